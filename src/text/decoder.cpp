#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "src/text/row_decoder.hpp"
#include "zero/base/error.hpp"
#include "zero/base/philox.hpp"
#include "zero/text/generator.hpp"

namespace zero::writing {
namespace {

/// Tokens of a text's beginning in one chunk, for which weights are read once.
constexpr int64_t kChunk = 64;

int64_t context_of(const model::Architecture& model, const Decoder::Options& options) {
  const int64_t positions = model::data_form(model).positions;
  if (options.context >= 0) return options.context == 0 ? positions : options.context;
  refuse(Exit::kUsage, "a context of ", options.context, " tokens: at least 1, or 0 for all ",
         positions, " positions of the model");
}

RowDecoder::Options rows_of(const model::Architecture& model, const Decoder::Options& options) {
  const int64_t context = context_of(model, options);
  return {.compute = options.compute,
          .threads = options.threads,
          .decode = {.length = 1, .context = context},
          .prefill = {.length = std::min(kChunk, context), .context = context},
          .together = options.together,
          .lent = options.lent};
}

/// An order to ranks that follow, which contribute the least value.
enum class Call : int64_t { none, end, decode, prefill };

constexpr uint64_t kStream = 0x67656e6572617465;  // key of these draws alone
constexpr const char* kReplacement = "\xEF\xBF\xBD";

}  // namespace

struct Decoder::Parts {
  Parts(const model::Architecture& model, const Options& options)
      : context(context_of(model, options)),
        rows(model, rows_of(model, options)),
        largest(options.together ? options.together->largest : nullptr) {
    chunk.reserve(size_t(std::min(kChunk, context)));
  }

  void require_room(std::span<const int32_t> tokens) const {
    if (int64_t(tokens.size()) > context - position) {
      refuse(Exit::kUsage, tokens.size(), " tokens more than the ", position, " in a context of ",
             context, ": ask for fewer, or shorten the prompt");
    }
    for (int32_t token : tokens) {
      if (token >= 0 && token < rows.vocabulary()) continue;
      refuse(Exit::kUsage, "token ", token, " is none of the model's ", rows.vocabulary(),
             ": the text was encoded with another vocabulary");
    }
  }

  void run(std::span<const int32_t> tokens) {
    chunk.clear();
    for (const int32_t token : tokens) {
      chunk.push_back({.token = token, .place = {.text = 0, .position = int32_t(position)}});
      ++position;
    }
    const int32_t last = int32_t(tokens.size()) - 1;
    call(last == 0 ? Call::decode : Call::prefill);
    rows.run(last == 0 ? plan::kDecode : plan::kPrefill,
             {.rows = chunk, .logits = std::span(&last, 1)});
  }

  /// Sends an order to all ranks. Returns the largest order of all.
  Call call(Call own) const { return largest ? Call(largest(int64_t(own))) : own; }

  int64_t context;
  RowDecoder rows;
  std::function<int64_t(int64_t)> largest;
  std::vector<TokenRow> chunk;
  int64_t position = 0;
};

plan::TierBytes Decoder::bytes(const model::Architecture& model, const Options& options) {
  return RowDecoder::bytes(model, rows_of(model, options));
}

Decoder::Decoder(const model::Architecture& model, const Options& options)
    : parts_(std::make_unique<Parts>(model, options)) {}
Decoder::~Decoder() = default;

const graph::Graph& Decoder::graph() const { return parts_->rows.graph(); }

void Decoder::set_parameter(int32_t index, int64_t first, std::span<const float> values) {
  parts_->rows.set_parameter(index, first, values);
}

std::span<const float> Decoder::feed(std::span<const int32_t> tokens) {
  ZERO_REQUIRE(!tokens.empty(), "no token to go on from");
  parts_->require_room(tokens);
  const size_t chunk = size_t(std::min(kChunk, parts_->context));
  while (!tokens.empty()) {
    const size_t count = std::min(chunk, tokens.size());
    parts_->run(tokens.first(count));
    tokens = tokens.subspan(count);
  }
  return parts_->rows.logits();
}

int64_t Decoder::position() const { return parts_->position; }
void Decoder::clear() { parts_->position = 0; }

void Decoder::follow() {
  for (;;) {
    const Call called = parts_->call(Call::none);
    if (called == Call::end || called == Call::none) return;
    parts_->rows.run(called == Call::decode ? plan::kDecode : plan::kPrefill, {});
  }
}

void Decoder::dismiss() { parts_->call(Call::end); }

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

}  // namespace zero::writing
