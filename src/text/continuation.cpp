#include "zero/text/continuation.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"

namespace zero::writing {
namespace {

constexpr uint64_t kStream = 0x67656e6572617465;  // key of these draws alone

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
  // The text's number is not added to the key. Else seed s + 1 would repeat the draws of s.
  const uint32_t low = uint32_t(choice.text), high = uint32_t(choice.text >> 32);
  const PhiloxBlock bits = philox({{number, low, high, 0}}, choice.seed ^ kStream);
  return int32_t(draw(left, (bits.word[0] + 0.5) / 4294967296.0));
}

void continue_tokens(const Language& language, std::span<const int32_t> prompt, int64_t count,
                     const ScoreRules& rules, const TokenChoice& choice,
                     const std::function<void(int32_t)>& visit) {
  ZERO_REQUIRE(!prompt.empty() && language.context >= 1, "a prompt of ", prompt.size(),
               " tokens in a context of ", language.context);
  const size_t most = size_t(language.context), half = most / 2;
  if (!language.slides && prompt.size() > most) {
    refuse(Exit::kUsage, "a prompt of ", prompt.size(), " tokens in a context of ", most,
           ", which does not slide: shorten the prompt");
  }
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
    if (full && !language.slides) return;
    if (full) {
      held = half;
      language.clear();
    }
    ++held;
    next = std::span<const int32_t>(all).last(full ? held : 1);
  }
}

}  // namespace zero::writing
