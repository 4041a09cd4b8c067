#include "zero/text/search_rules.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "zero/base/error.hpp"

namespace zero::writing {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

using Tokens = std::span<const int32_t>;

/// Forbids tokens. Ignores ids beyond the scores, which no such model writes.
void forbid(Tokens tokens, std::span<float> scores) {
  for (const int32_t token : tokens) {
    if (token >= 0 && size_t(token) < scores.size()) scores[size_t(token)] = kForbidden;
  }
}

/// Makes these tokens equally likely and forbids all others.
void force(Tokens tokens, std::span<float> scores) {
  std::ranges::fill(scores, kForbidden);
  for (const int32_t token : tokens) {
    if (token >= 0 && size_t(token) < scores.size()) scores[size_t(token)] = 0;
  }
}

/// Penalises each token once, however often it occurs.
void penalise(Tokens tokens, double penalty, std::span<float> scores) {
  std::vector<int32_t> once(tokens.begin(), tokens.end());
  std::ranges::sort(once);
  once.erase(std::unique(once.begin(), once.end()), once.end());
  const float factor = float(penalty);
  for (const int32_t token : once) {
    if (token < 0 || size_t(token) >= scores.size()) continue;
    float& score = scores[size_t(token)];
    score = score < 0 ? score * factor : score / factor;
  }
}

/// A search for tokens in others, in time linear in both lengths (Knuth, Morris and Pratt 1977).
class Follower {
 public:
  explicit Follower(Tokens wanted) : wanted_(wanted), borders_(wanted.size()) {
    for (size_t i = 1; i < wanted.size(); ++i) borders_[i] = longer(borders_[i - 1], wanted[i]);
  }
  /// True if the last added tokens are the wanted ones.
  bool is_at_end() const { return found_ == wanted_.size(); }
  void add(int32_t token) {
    if (wanted_.empty()) return;
    found_ = longer(is_at_end() ? borders_[found_ - 1] : found_, token);
  }

 private:
  /// Returns the length of the longest prefix that ends with `token`, behind `begun` tokens.
  size_t longer(size_t begun, int32_t token) const {
    while (begun > 0 && wanted_[begun] != token) begun = borders_[begun - 1];
    return begun + size_t(wanted_[begun] == token);
  }

  Tokens wanted_;
  std::vector<size_t> borders_;  // [i]: longest end of the first i + 1 that also begins them
  size_t found_ = 0;
};

/// Forbids tokens that would complete an n-gram of `seen` that the end of `tokens` begins.
void forbid_repeats(Tokens seen, Tokens tokens, int64_t size, std::span<float> scores) {
  const size_t n = size_t(size);
  if (tokens.size() + 1 < n || seen.size() < n) return;
  Follower follower(tokens.last(n - 1));
  for (const int32_t& token : seen) {
    if (follower.is_at_end()) forbid({&token, 1}, scores);
    follower.add(token);
  }
}

bool is_too_short(const ScoreRules& rules, const WrittenText& text) {
  const int64_t length = int64_t(text.tokens.size());
  return length < rules.min_length || length - text.beginning < rules.min_new_tokens;
}

void forbid_repeats(const ScoreRules& rules, const WrittenText& text, std::span<float> scores) {
  if (rules.no_repeat_ngram_size > 0) {
    forbid_repeats(text.tokens, text.tokens, rules.no_repeat_ngram_size, scores);
  }
  if (rules.encoder_no_repeat_ngram_size > 0) {
    forbid_repeats(text.source, text.tokens, rules.encoder_no_repeat_ngram_size, scores);
  }
}

void force_ends(const ScoreRules& rules, const WrittenText& text, std::span<float> scores) {
  const int64_t length = int64_t(text.tokens.size());
  if (rules.forced_bos_token_id && length == 1) force({&*rules.forced_bos_token_id, 1}, scores);
  if (!rules.forced_eos_token_id.empty() && length + 1 == rules.max_length) {
    force(rules.forced_eos_token_id, scores);
  }
}

/// True if the next token directly follows the beginning, or a forced first token behind it.
bool is_at_begin(const ScoreRules& rules, const WrittenText& text) {
  const bool forced = text.beginning <= 1 && rules.forced_bos_token_id.has_value();
  return int64_t(text.tokens.size()) == text.beginning + int64_t(forced);
}

/// Forbids tokens below the k-th largest score.
void keep_largest(int64_t k, std::span<float> scores) {
  if (k >= int64_t(scores.size())) return;
  std::vector<float> sorted(scores.begin(), scores.end());
  std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), std::greater<>());
  for (float& score : scores) {
    if (score < sorted[size_t(k - 1)]) score = kForbidden;
  }
}

/// Forbids the least likely tokens that together have at most 1 - p, but not the likeliest.
void keep_mass(double p, std::span<float> scores) {
  const std::vector<double> share = probabilities(scores);
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int32_t token) { return scores[size_t(token)]; });
  double sum = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    sum += share[size_t(order[i])];
    if (sum > 1 - p) break;
    scores[size_t(order[i])] = kForbidden;
  }
}

/// Number of lanes in which maxima and sums run.
constexpr size_t kLanes = 16;

float largest(std::span<const float> scores) {
  float lanes[kLanes];
  std::ranges::fill(lanes, scores[0]);
  const size_t whole = scores.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes)
    for (size_t l = 0; l < kLanes; ++l)
      lanes[l] = lanes[l] < scores[i + l] ? scores[i + l] : lanes[l];
  for (size_t i = whole; i < scores.size(); ++i) lanes[0] = std::max(lanes[0], scores[i]);
  return *std::ranges::max_element(lanes);
}

/// Returns exp(x) for x <= 0, to 3e-7 relative; 0 below -87. A loop of it is vectorised, unlike one
/// of std::exp.
[[gnu::always_inline]] inline float near_exp(float x) {
  constexpr float kToInteger = 12582912.0f;  // 1.5 * 2^23: the sum's low bits are the integer
  const float log2 = x * 1.44269504f;
  const float clamped = log2 < -125.0f ? -125.0f : log2;
  const float shifted = clamped + kToInteger;
  // The remainder is exact: a product without rounding, and the rest of the factor.
  const float rest = std::fma(x, 1.44269504f, -(shifted - kToInteger)) + x * 1.92596299e-8f;
  float p = 1.5353362e-4f;
  p = std::fma(p, rest, 1.3398874e-3f);
  p = std::fma(p, rest, 9.6184374e-3f);
  p = std::fma(p, rest, 5.5503325e-2f);
  p = std::fma(p, rest, 2.4022648e-1f);
  p = std::fma(p, rest, 6.9314720e-1f);
  p = std::fma(p, rest, 1.0f);
  const uint32_t power = std::bit_cast<uint32_t>(shifted) << 23;
  const float value = std::bit_cast<float>(std::bit_cast<uint32_t>(p) + power);
  return log2 < -125.0f ? 0.0f : value;
}

}  // namespace

bool try_rules(const ScoreRules& rules, const WrittenText& text, std::span<float> scores) {
  if (rules.repetition_penalty != 1) penalise(text.tokens, rules.repetition_penalty, scores);
  forbid_repeats(rules, text, scores);
  if (is_too_short(rules, text)) forbid(rules.eos_token_id, scores);
  force_ends(rules, text, scores);
  forbid(rules.suppress_tokens, scores);
  if (is_at_begin(rules, text)) forbid(rules.begin_suppress_tokens, scores);
  if (largest(scores) > kForbidden) return true;
  if (std::ranges::none_of(scores, [](float score) { return std::isnan(score); })) return false;
  refuse(Exit::kNumerics, "generation: what the model says behind ", text.tokens.size(),
         " tokens is no number: the weights are broken, or overflow in the compute type");
}

void apply_rules(const ScoreRules& rules, const WrittenText& text, std::span<float> scores) {
  if (try_rules(rules, text, scores)) return;
  refuse(Exit::kUsage, "generation: the rules leave no token behind ", text.tokens.size(),
         " others; allow more n-grams, tokens or lengths");
}

void narrow(const DrawRules& rules, std::span<float> scores) {
  if (rules.temperature != 1) {
    // The largest becomes 0, so no temperature is too low.
    const double most = *std::ranges::max_element(scores);
    for (float& score : scores) score = float((double(score) - most) / rules.temperature);
  }
  if (rules.top_k > 0) keep_largest(rules.top_k, scores);
  if (rules.top_p < 1) keep_mass(rules.top_p, scores);
}

void suppress_unknown(const Tokenizer& tokenizer, const model::DataForm& form, ScoreRules& rules) {
  for (int64_t id = tokenizer.vocab_size(); id < form.vocabulary; ++id) {
    if (std::ranges::find(rules.eos_token_id, id) == rules.eos_token_id.end())
      rules.suppress_tokens.push_back(int32_t(id));
  }
}

std::vector<double> probabilities(std::span<const float> scores) {
  const double most = *std::ranges::max_element(scores);
  std::vector<double> shares;
  double sum = 0;
  for (const float score : scores) sum += shares.emplace_back(std::exp(double(score) - most));
  for (double& share : shares) share /= sum;
  return shares;
}

void to_log_softmax(std::span<float> scores) {
  const float most = largest(scores);
  double lanes[kLanes] = {};
  const size_t whole = scores.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes)
    for (size_t l = 0; l < kLanes; ++l) lanes[l] += double(near_exp(scores[i + l] - most));
  for (size_t i = whole; i < scores.size(); ++i) lanes[0] += double(near_exp(scores[i] - most));
  const double sum = std::accumulate(std::begin(lanes), std::end(lanes), 0.0);
  const double shift = double(most) + std::log(sum);
  for (float& score : scores) score = float(double(score) - shift);
}

namespace {

using Ids = std::vector<int32_t>;

/// Returns the ids of a key. Refuses ids beyond the vocabulary.
Ids ids_of(const char* key, const std::vector<int64_t>& ids, const model::DataForm& form) {
  for (const int64_t id : ids) {
    if (id < form.vocabulary) continue;
    refuse_settings({text("generation.", key)}, "id ", id,
                    " is beyond the model's vocabulary, which is of ", form.vocabulary,
                    "; write one below");
  }
  return Ids(ids.begin(), ids.end());
}

Ids ids_of(const char* key, const std::optional<std::vector<int64_t>>& ids,
           const model::DataForm& form) {
  return ids ? ids_of(key, *ids, form) : Ids();
}

/// Maximum tokens of a text without a bound of the model, because each attends to all.
constexpr int64_t kMostTokens = 1 << 16;

/// Refuses texts beyond the positions. A decoder reads all tokens but the last.
void require_positions(const GenerationConfig& generation, int64_t length,
                       const model::DataForm& form) {
  const int64_t most = std::min(form.positions, kMostTokens);
  if (length - 1 <= most) return;
  const std::string bound =
      most == form.positions ? text("the model's ", most, " positions")
                             : text("the ", most, " that are written, as the model has no bound");
  const bool whole = generation.max_length.has_value();
  refuse_settings(
      {whole ? "generation.max_length" : "generation.max_new_tokens", "data.sequence_length"},
      "texts of ", length, " tokens are longer than ", bound, "; write ", most + int64_t(whole),
      " or less");
}

DrawRules draws_of(const GenerationConfig& generation) {
  constexpr int64_t kLikeliest = 50;  // Hugging Face's default
  return {.temperature = generation.temperature.value_or(1),
          .top_k = generation.top_k.value_or(kLikeliest),
          .top_p = generation.top_p.value_or(1)};
}

ScoreRules scores_of(const GenerationConfig& generation, const model::DataForm& form) {
  ScoreRules scores{
      .min_length = generation.min_new_tokens ? 0 : generation.min_length.value_or(0),
      .min_new_tokens = generation.min_new_tokens.value_or(0),
      .repetition_penalty = generation.repetition_penalty.value_or(1),
      .no_repeat_ngram_size = generation.no_repeat_ngram_size.value_or(0),
      .encoder_no_repeat_ngram_size = generation.encoder_no_repeat_ngram_size.value_or(0),
      .forced_eos_token_id = ids_of("forced_eos_token_id", generation.forced_eos_token_id, form),
      .suppress_tokens = ids_of("suppress_tokens", generation.suppress_tokens, form),
      .begin_suppress_tokens =
          ids_of("begin_suppress_tokens", generation.begin_suppress_tokens, form),
      .eos_token_id = ids_of("eos_token_id", generation.eos_token_id, form)};
  if (!generation.eos_token_id && form.ids.end >= 0) scores.eos_token_id = {int32_t(form.ids.end)};
  if (const auto& first = generation.forced_bos_token_id) {
    scores.forced_bos_token_id =
        ids_of("forced_bos_token_id", std::vector<int64_t>{*first}, form).front();
  }
  return scores;
}

}  // namespace

SearchRules search_rules(const GenerationConfig& generation, const model::Architecture& model,
                         int64_t new_tokens, uint64_t seed) {
  const model::DataForm form = model::data_form(model);
  SearchRules rules{.scores = scores_of(generation, form),
                    .choice = {.seed = seed},
                    .num_beams = generation.num_beams.value_or(1),
                    .length_penalty = generation.length_penalty.value_or(1),
                    .early_stopping = generation.early_stopping.value_or(BeamEnd::no)};
  if (generation.do_sample.value_or(false)) rules.choice.draws = draws_of(generation);
  if (generation.max_length) {
    rules.scores.max_length = *generation.max_length;
  } else {
    rules.max_new_tokens = generation.max_new_tokens.value_or(new_tokens);
  }
  const bool begins_with_one =
      form.ids.start >= 0;  // a decoder's beginning is a prompt of any length
  if (begins_with_one) {
    require_positions(generation, std::max(rules.scores.max_length, rules.max_new_tokens + 1),
                      form);
  }
  return rules;
}

}  // namespace zero::writing
