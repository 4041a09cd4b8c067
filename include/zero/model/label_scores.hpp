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
  /// Returns the scores of the sample with this index.
  std::span<const float> of(int64_t sample) const {
    return scores.subspan(size_t(sample * labels), size_t(labels));
  }
};

/// Returns the length of LabelScores::room for metrics of so many samples and labels.
int64_t room_numel(int64_t samples, int64_t labels);

/// Returns the index of the highest of a sample's scores, the first of equal ones; -1 if one is
/// NaN.
int64_t chosen_class(std::span<const float> scores);

/// Returns the share of the labelled samples in `of`, a scored set, whose chosen_class() is their
/// label. Returns NaN, as all metrics here do, if a labelled sample has a score that is NaN, or no
/// sample is labelled.
double accuracy(const LabelScores& of);

/// Returns 2 tp / (2 tp + fp + fn) of class 1 of two, by the choices and labels in `of`. For more
/// classes, returns the mean over those that occur as a choice or a label (macro average). Returns
/// 0 for 0/0, as f1_score of scikit-learn.
double f1(const LabelScores& of);

/// Returns Matthews' correlation of the choices and labels in `of`, for any number of classes
/// (Gorodkin 2004). Returns 0 if all choices or all labels are of one class.
double matthews(const LabelScores& of);

/// Returns Pearson's correlation of the scores and labels in `of`, by differences to their means.
/// Returns NaN if either is constant. REQUIRES: one score a sample.
double pearson(const LabelScores& of);

/// Returns Pearson's correlation of the ranks of scores and labels in `of`, where equal numbers
/// share the mean of their ranks (Spearman 1904). Returns NaN as pearson(). REQUIRES: one score a
/// sample.
double spearman(const LabelScores& of);

}  // namespace zero::model
