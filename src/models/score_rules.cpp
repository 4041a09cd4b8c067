#include "zero/models/score_rules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "zero/base/error.hpp"

namespace zero::models {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

using Tokens = std::span<const int32_t>;

/// Ids beyond the scores, which no model of this vocabulary writes, are passed over.
void forbid(Tokens tokens, std::span<float> scores) {
  for (const int32_t token : tokens) {
    if (token >= 0 && size_t(token) < scores.size()) scores[size_t(token)] = kForbidden;
  }
}

/// Only these are left, and none is likelier than another.
void force(Tokens tokens, std::span<float> scores) {
  std::ranges::fill(scores, kForbidden);
  for (const int32_t token : tokens) {
    if (token >= 0 && size_t(token) < scores.size()) scores[size_t(token)] = 0;
  }
}

/// A token counts once, however often it stands there.
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

/// Forbids what would end an n-gram of `seen` that begins as `tokens` end.
void forbid_repeats(Tokens seen, Tokens tokens, int64_t size, std::span<float> scores) {
  const size_t n = size_t(size);
  if (tokens.size() + 1 < n) return;
  const Tokens begun = tokens.last(n - 1);
  for (size_t at = 0; at + n <= seen.size(); ++at) {
    if (std::ranges::equal(seen.subspan(at, n - 1), begun))
      forbid(seen.subspan(at + n - 1, 1), scores);
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

/// Where a forced first token follows the beginning, what is directly behind it comes one later.
bool is_at_begin(const ScoreRules& rules, const WrittenText& text) {
  const bool forced = text.beginning <= 1 && rules.forced_bos_token_id.has_value();
  return int64_t(text.tokens.size()) == text.beginning + int64_t(forced);
}

/// Forbids all below the k-th largest.
void keep_largest(int64_t k, std::span<float> scores) {
  if (k >= int64_t(scores.size())) return;
  std::vector<float> sorted(scores.begin(), scores.end());
  std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), std::greater<>());
  for (float& score : scores) {
    if (score < sorted[size_t(k - 1)]) score = kForbidden;
  }
}

/// Forbids the least likely ones that together have at most 1 - p. The likeliest stays.
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

}  // namespace

void apply_rules(const ScoreRules& rules, const WrittenText& text, std::span<float> scores) {
  if (rules.repetition_penalty != 1) penalise(text.tokens, rules.repetition_penalty, scores);
  forbid_repeats(rules, text, scores);
  if (is_too_short(rules, text)) forbid(rules.eos_token_id, scores);
  force_ends(rules, text, scores);
  forbid(rules.suppress_tokens, scores);
  if (is_at_begin(rules, text)) forbid(rules.begin_suppress_tokens, scores);
  if (*std::ranges::max_element(scores) > kForbidden) return;
  refuse(Exit::kUsage, "generation: the rules leave no token behind ", text.tokens.size(),
         " others; allow more n-grams, tokens or lengths");
}

void narrow(const DrawRules& rules, std::span<float> scores) {
  if (rules.temperature != 1) {
    // The largest becomes 0, so that no temperature is too low.
    const double most = *std::ranges::max_element(scores);
    for (float& score : scores) score = float((double(score) - most) / rules.temperature);
  }
  if (rules.top_k > 0) keep_largest(rules.top_k, scores);
  if (rules.top_p < 1) keep_mass(rules.top_p, scores);
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
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(double(score) - most);
  const double shift = most + std::log(sum);
  for (float& score : scores) score = float(double(score) - shift);
}

}  // namespace zero::models
