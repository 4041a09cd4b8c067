#pragma once
/// Metrics of texts that a model scores, by lm-eval's names and rules (EleutherAI, version 0.4).

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "zero/config/objective_keys.hpp"
#include "zero/io/data/scored_texts.hpp"

namespace zero::model {

/// The counts that metrics of MetricSource::choices divide.
struct ChoiceCounts {
  int64_t records = 0;
  int64_t right = 0;               ///< the answer has the highest sum of log probabilities
  int64_t right_by_character = 0;  ///< its sum divided by its characters is the highest
  int64_t right_by_byte = 0;
  int64_t greedy = 0;  ///< each token of the answer is the likeliest

  ChoiceCounts& operator+=(const ChoiceCounts& other);
  bool operator==(const ChoiceCounts&) const = default;
};

/// The score of a sample: the sum of its log probabilities, and true if each token is the
/// likeliest.
struct SampleScore {
  double sum = 0;
  bool is_greedy = false;
};

/// Returns the counts of one record, by the scores of its choices in their order. The first of
/// equal scores is the highest.
ChoiceCounts count_choices(const ScoredChoices& record, std::span<const SampleScore> scores);

/// Returns the metrics of choices and of documents: acc, acc_norm, acc_bytes, acc_greedy;
/// word_perplexity, byte_perplexity, bits_per_byte. Counts of documents are words and bytes.
std::vector<Metric> scoring_metrics();

}  // namespace zero::model
