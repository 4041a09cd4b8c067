#include "zero/model/label_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "zero/base/error.hpp"

namespace zero::model {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// Counts of each class, in the scratch of the scores. [classes]
struct ClassCounts {
  std::span<double> hits, chosen, actual;
  double all = 0;

  size_t classes() const { return hits.size(); }
  /// Returns a class's 2 tp + fp + fn.
  double uses(size_t of) const { return chosen[of] + actual[of]; }
  double f1(size_t of) const { return uses(of) > 0 ? 2 * hits[of] / uses(of) : 0; }
};

/// Returns the counts of labelled samples. Returns none without any, or if a score is NaN.
std::optional<ClassCounts> count(const LabelScores& of) {
  const size_t classes = size_t(of.labels);
  ZERO_REQUIRE(of.labels > 1 && of.room.size() >= 3 * classes, "no room for ", classes, " classes");
  std::ranges::fill(of.room.first(3 * classes), 0.0);
  ClassCounts counts{.hits = of.room.first(classes),
                     .chosen = of.room.subspan(classes, classes),
                     .actual = of.room.subspan(2 * classes, classes)};
  for (int64_t sample = 0; sample < of.samples(); ++sample) {
    const double truth = of.truths[size_t(sample)];
    if (std::isnan(truth)) continue;
    ZERO_REQUIRE(truth >= 0 && truth < double(classes), "class ", truth, " of ", classes);
    const int64_t chosen = chosen_class(of.of(sample)), actual = int64_t(truth);
    if (chosen < 0) return {};
    counts.hits[size_t(actual)] += chosen == actual;
    ++counts.chosen[size_t(chosen)];
    ++counts.actual[size_t(actual)];
    ++counts.all;
  }
  if (counts.all == 0) return {};
  return counts;
}

double product(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The scores and labels of labelled samples, in the first two thirds of the scratch.
struct Columns {
  std::span<double> scores, truths, rest;
};

/// Returns none without a labelled sample, or if a score is NaN.
std::optional<Columns> columns_of(const LabelScores& of) {
  const size_t samples = of.truths.size();
  ZERO_REQUIRE(of.labels == 1 && of.room.size() >= 3 * samples, "no room for ", samples, " ranks");
  size_t count = 0;
  for (size_t i = 0; i < samples; ++i) {
    if (std::isnan(of.truths[i])) continue;
    if (std::isnan(of.scores[i])) return {};
    of.room[count] = double(of.scores[i]);
    of.room[samples + count++] = of.truths[i];
  }
  if (count == 0) return {};
  return Columns{.scores = of.room.first(count),
                 .truths = of.room.subspan(samples, count),
                 .rest = of.room.subspan(2 * samples, count)};
}

/// Returns the sum, compensated for what additions round off (Neumaier 1974).
double sum_of(std::span<const double> numbers) {
  double sum = 0, lost = 0;
  for (const double number : numbers) {
    const double next = sum + number;
    const bool is_larger = std::abs(sum) >= std::abs(number);
    lost += is_larger ? (sum - next) + number : (number - next) + sum;
    sum = next;
  }
  return sum + lost;
}

/// Replaces numbers by their differences to the mean, divided by the largest, so that no square
/// overflows. Returns false for constant numbers.
bool center(std::span<double> numbers) {
  const auto [low, high] = std::ranges::minmax(numbers);
  if (low == high) return false;
  const double mean = sum_of(numbers) / double(numbers.size());
  for (double& number : numbers) number -= mean;
  const double largest = std::max(std::abs(low - mean), std::abs(high - mean));
  for (double& number : numbers) number /= largest;
  return true;
}

double correlation(const Columns& of) {
  if (!center(of.scores) || !center(of.truths)) return kUndefined;
  const double norms =
      std::sqrt(product(of.scores, of.scores)) * std::sqrt(product(of.truths, of.truths));
  const double found = product(of.scores, of.truths) / norms;
  return std::isnan(found) ? kUndefined : std::clamp(found, -1.0, 1.0);
}

/// Replaces numbers by their ranks, from 1 on. `order` is scratch of as many numbers.
void rank(std::span<double> numbers, std::span<double> order) {
  std::iota(order.begin(), order.end(), 0.0);
  const auto number = [&](double place) { return numbers[size_t(place)]; };
  std::ranges::sort(order, {}, number);
  for (size_t first = 0, last; first < order.size(); first = last) {
    last = first + 1;
    while (last < order.size() && number(order[last]) == number(order[first])) ++last;
    const double shared = double(first + 1 + last) / 2;
    for (size_t i = first; i < last; ++i) numbers[size_t(order[i])] = shared;
  }
}

}  // namespace

int64_t room_numel(int64_t samples, int64_t labels) { return 3 * (labels == 1 ? samples : labels); }

int64_t chosen_class(std::span<const float> scores) {
  if (std::ranges::any_of(scores, [](float score) { return std::isnan(score); })) return -1;
  return std::ranges::max_element(scores) - scores.begin();
}

double accuracy(const LabelScores& of) {
  const std::optional<ClassCounts> counts = count(of);
  return counts ? sum_of(counts->hits) / counts->all : kUndefined;
}

double f1(const LabelScores& of) {
  const std::optional<ClassCounts> counts = count(of);
  if (!counts) return kUndefined;
  if (counts->classes() == 2) return counts->f1(1);
  double sum = 0, occurring = 0;
  for (size_t one = 0; one < counts->classes(); ++one) {
    if (counts->uses(one) == 0) continue;
    sum += counts->f1(one);
    ++occurring;
  }
  return sum / occurring;
}

double matthews(const LabelScores& of) {
  const std::optional<ClassCounts> counts = count(of);
  if (!counts) return kUndefined;
  const auto& [hits, chosen, actual, all] = *counts;
  const double together = sum_of(hits) * all - product(chosen, actual);
  const double apart =
      (all * all - product(chosen, chosen)) * (all * all - product(actual, actual));
  return apart == 0 ? 0 : together / std::sqrt(apart);
}

double pearson(const LabelScores& of) {
  const std::optional<Columns> columns = columns_of(of);
  return columns ? correlation(*columns) : kUndefined;
}

double spearman(const LabelScores& of) {
  const std::optional<Columns> columns = columns_of(of);
  if (!columns) return kUndefined;
  rank(columns->scores, columns->rest);
  rank(columns->truths, columns->rest);
  return correlation(*columns);
}

}  // namespace zero::model
