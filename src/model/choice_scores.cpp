#include "zero/model/choice_scores.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "zero/base/error.hpp"

namespace zero::model {
namespace {

/// Returns the index of the highest score per unit of length, the first of equal ones.
int64_t best(std::span<const SampleScore> scores, const auto& length) {
  int64_t best = 0;
  for (int64_t i = 1; i < std::ssize(scores); ++i) {
    if (scores[size_t(i)].sum / length(i) > scores[size_t(best)].sum / length(best)) best = i;
  }
  return best;
}

/// The places of counts: see ChoiceCounts, and words and bytes of documents.
enum : size_t { kRecords, kRight, kByCharacter, kByByte, kGreedy };
enum : size_t { kWords, kBytes };

template <size_t kCount>
Metric share(std::string_view name) {
  return {.name = name,
          .words = name,
          .digits = 4,
          .source = MetricSource::choices,
          .higher_is_better = true,
          .value = [](double, std::span<const int64_t> counts) {
            return double(counts[kCount]) / double(counts[kRecords]);
          }};
}

Metric of_documents(std::string_view name,
                    double (*value)(double loss, std::span<const int64_t> counts)) {
  return {
      .name = name, .words = name, .digits = 4, .source = MetricSource::documents, .value = value};
}

}  // namespace

ChoiceCounts& ChoiceCounts::operator+=(const ChoiceCounts& other) {
  records += other.records;
  right += other.right;
  right_by_character += other.right_by_character;
  right_by_byte += other.right_by_byte;
  greedy += other.greedy;
  return *this;
}

ChoiceCounts count_choices(const ScoredChoices& record, std::span<const SampleScore> scores) {
  const auto one = [](int64_t) { return 1.0; };
  const auto characters = [&](int64_t i) { return double(record.characters[size_t(i)]); };
  const auto bytes = [&](int64_t i) { return double(record.bytes[size_t(i)]); };
  ZERO_REQUIRE(scores.size() == record.bytes.size(), scores.size(), " scores of ",
               record.bytes.size(), " choices");
  return {.records = 1,
          .right = best(scores, one) == record.answer,
          .right_by_character = best(scores, characters) == record.answer,
          .right_by_byte = best(scores, bytes) == record.answer,
          .greedy = scores[size_t(record.answer)].is_greedy};
}

std::vector<Metric> scoring_metrics() {
  using Counts = std::span<const int64_t>;
  return {share<kRight>("acc"),
          share<kByCharacter>("acc_norm"),
          share<kByByte>("acc_bytes"),
          share<kGreedy>("acc_greedy"),
          of_documents(
              "word_perplexity",
              [](double loss, Counts counts) { return std::exp(loss / double(counts[kWords])); }),
          of_documents(
              "byte_perplexity",
              [](double loss, Counts counts) { return std::exp(loss / double(counts[kBytes])); }),
          of_documents("bits_per_byte", [](double loss, Counts counts) {
            return loss / (double(counts[kBytes]) * std::numbers::ln2);
          })};
}

}  // namespace zero::model
