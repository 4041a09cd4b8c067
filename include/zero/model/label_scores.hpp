#pragma once
/// Metrics of classes and of predicted numbers. They are equal to scikit-learn's and SciPy's within
/// rounding, and allocate nothing.

#include <cstdint>
#include <span>

namespace zero::model {

/// The scores that a model gives the samples of a set, beside their labels.
struct LabelScores {
  int64_t labels = 0;                   ///< scores of a sample: one a class, or 1, a number
  std::span<const float> scores = {};   ///< [samples, labels]
  std::span<const double> truths = {};  ///< [samples] class or number; NaN: no label, not measured
  std::span<double> room = {};          ///< scratch of room_numel() numbers

  int64_t samples() const { return int64_t(truths.size()); }
  std::span<const float> of(int64_t sample) const {
    return scores.subspan(size_t(sample * labels), size_t(labels));
  }
};

/// Returns the scratch numbers that a metric of so many samples and labels takes.
int64_t room_numel(int64_t samples, int64_t labels);

/// Returns the class of the highest score, the first of equal ones; -1 if a score is NaN.
int64_t chosen_class(std::span<const float> scores);

/// Returns the share of samples whose chosen class is their label. Returns NaN, as all metrics here
/// do, if a labelled sample has a score that is NaN, or no sample is labelled.
double accuracy(const LabelScores& of);

/// Returns 2 tp / (2 tp + fp + fn) of class 1 of two. For more classes, returns the mean over those
/// that occur as a choice or a label (macro average). Returns 0 for 0/0, as f1_score of
/// scikit-learn.
double f1(const LabelScores& of);

/// Returns Matthews' correlation of choices and labels, for any number of classes (Gorodkin 2004).
/// Returns 0 if all choices or all labels are of one class.
double matthews(const LabelScores& of);

/// Returns Pearson's correlation of scores and labels, by differences to their means. Returns NaN
/// if either is constant. REQUIRES: one score a sample.
double pearson(const LabelScores& of);

/// Returns Pearson's correlation of ranks, where equal numbers share the mean of their ranks
/// (Spearman 1904). Returns NaN as pearson(). REQUIRES: one score a sample.
double spearman(const LabelScores& of);

}  // namespace zero::model
