#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "zero/config/objective_keys.hpp"

namespace zero::state {

/// The result of an evaluation on a validation set.
struct Evaluation {
  struct Measured {
    const Metric* metric = nullptr;
    double value = 0;
  };
  /// A list of at most 16 metrics. Evaluations between steps allocate nothing.
  class List {
   public:
    /// Appends a metric. Throws Error(kInternal) for a 17th.
    void push_back(const Measured& one);
    const Measured* begin() const { return all_.data(); }
    const Measured* end() const { return all_.data() + size_; }
    size_t size() const { return size_; }
    const Measured& operator[](size_t i) const { return all_[i]; }

   private:
    std::array<Measured, 16> all_ = {};
    size_t size_ = 0;
  };

  int64_t step = 0;     ///< step whose update made the weights
  double loss = 0;      ///< nats a counted unit; NaN if any is not finite
  int64_t counted = 0;  ///< units whose mean the loss is
  double seconds = 0;
  const char* counted_by = kByToken;  ///< the unit
  List metrics = {};                  ///< in the order of the objective's, if measured
  int64_t texts = 0;                  ///< texts generated for the set; 0: none
  double texts_seconds = 0;

  /// Adds the metrics of the objective, `of_objective`, that have this source, by its counts.
  void measure(std::span<const Metric> of_objective, MetricSource source,
               std::span<const int64_t> counts = {});
  /// Adds the metrics of `of_objective` that have `source`, by the source's counts and its own
  /// loss, `of_source`, in place of this evaluation's.
  void measure(std::span<const Metric> of_objective, MetricSource source,
               std::span<const int64_t> counts, double of_source);
  /// Adds the objective's metrics of MetricSource::scores that fit the number of labels, by
  /// `scores`.
  void measure(std::span<const Metric> of_objective, const model::LabelScores& scores);
  /// Returns a metric by its name, or null if it was not measured.
  const Measured* measured(std::string_view name) const;
};

}  // namespace zero::state
