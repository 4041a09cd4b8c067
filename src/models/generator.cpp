#include "zero/models/generator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"

namespace zero::models {
namespace {

constexpr uint64_t kStream = 0x67656e6572617465;  // no other numbers are drawn with this key
constexpr const char* kReplacement = "\xEF\xBF\xBD";

}  // namespace

int64_t draw(std::span<const float> scores, double uniform) {
  const std::vector<double> shares = probabilities(scores);
  for (size_t i = 0; i < shares.size(); ++i) {
    uniform -= shares[i];
    if (uniform < 0) return int64_t(i);
  }
  return std::ranges::max_element(scores) - scores.begin();
}

int32_t choose_token(std::span<const float> scores, const TokenChoice& choice, uint32_t number) {
  if (!choice.draws) return int32_t(std::ranges::max_element(scores) - scores.begin());
  std::vector<float> left(scores.begin(), scores.end());
  narrow(*choice.draws, left);
  const PhiloxBlock bits = philox({{number, 0, 0, 0}}, choice.seed ^ kStream);
  return int32_t(draw(left, (bits.word[0] + 0.5) / 4294967296.0));
}

void continue_tokens(const Language& language, std::span<const int32_t> prompt, int64_t count,
                     const ScoreRules& rules, const TokenChoice& choice,
                     const std::function<void(int32_t)>& visit) {
  ZERO_REQUIRE(!prompt.empty() && language.context >= 1, "a prompt of ", prompt.size(),
               " tokens in a context of ", language.context);
  const size_t most = size_t(language.context), half = most / 2;
  std::vector<int32_t> all(prompt.begin(), prompt.end());
  size_t held = std::min(all.size(), most);
  std::span<const int32_t> next = std::span<const int32_t>(all).last(held);
  for (int64_t number = 0; number < count; ++number) {
    const auto logits = language.feed(next).first(size_t(language.vocabulary));
    std::vector<float> scores(logits.begin(), logits.end());
    apply_rules(rules, {.source = prompt, .tokens = all, .beginning = int64_t(prompt.size())},
                scores);
    const int32_t token = choose_token(scores, choice, uint32_t(number));
    visit(token);
    if (std::ranges::find(rules.eos_token_id, token) != rules.eos_token_id.end()) return;
    all.push_back(token);
    const bool full = held == most;
    if (full) {
      held = half;
      language.clear();
    }
    ++held;
    next = std::span<const int32_t>(all).last(full ? held : 1);
  }
}

void suppress_unknown(const Tokenizer& tokenizer, const model::DataForm& form, ScoreRules& rules) {
  for (int64_t id = tokenizer.vocab_size(); id < form.vocabulary; ++id) {
    if (std::ranges::find(rules.eos_token_id, id) == rules.eos_token_id.end())
      rules.suppress_tokens.push_back(int32_t(id));
  }
}

std::string answer_text(TokenList ids, int64_t start, int64_t end, const Tokenizer& tokenizer) {
  std::erase_if(
      ids, [&](int32_t id) { return id == start || id == end || id >= tokenizer.vocab_size(); });
  return tokenizer.decode(ids, SpecialTokens::kSkipped);
}

std::string CharacterStream::add(std::string_view bytes) {
  std::string whole;
  for (const char byte : bytes) {
    if (!checker_.accept(uint8_t(byte))) {
      // The byte that breaks a character may begin the next one.
      if (!held_.empty()) whole += kReplacement;
      held_.clear();
      checker_ = {};
      if (!checker_.accept(uint8_t(byte))) {
        whole += kReplacement;
        checker_ = {};
        continue;
      }
    }
    held_ += byte;
    if (!checker_.complete()) continue;
    whole += held_;
    held_.clear();
  }
  return whole;
}

std::string CharacterStream::finish() {
  const bool cut = !held_.empty();
  held_.clear();
  checker_ = {};
  return cut ? kReplacement : "";
}

}  // namespace zero::models
