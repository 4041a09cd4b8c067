#pragma once
/// Objectives, the tasks that models are trained on, as the keys see them. The table of models
/// lists them for each family, because this room knows no objective.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/run_config.hpp"

namespace zero {

namespace model {
struct LabelScores;
struct Objective;
}  // namespace model

/// The measured things that a metric comes from.
enum class MetricSource : uint8_t {
  loss,      ///< the mean loss, with which the metric grows
  samples,   ///< counts that the graph of an evaluation puts out
  scores,    ///< scores of the validation set's samples, beside their labels
  texts,     ///< counts of texts that evaluation.generate writes
  choices,   ///< counts of records of evaluation.choices
  documents  ///< the loss and counts of evaluation.documents
};

/// The sources that need no generated text, in the order of a line on an evaluation.
inline constexpr MetricSource kPlainSources[] = {MetricSource::loss, MetricSource::samples,
                                                 MetricSource::scores, MetricSource::choices,
                                                 MetricSource::documents};

/// A number that evaluations measure beside the loss.
struct Metric {
  std::string_view name;   ///< in input files and in files of a run
  std::string_view words;  ///< in lines for people
  int digits = 0;          ///< printed behind the point; under MetricSource::loss significant ones
  MetricSource source = MetricSource::loss;
  bool higher_is_better = false;
  /// Returns the metric. Counts are sums over ranks and samples; they are empty if the source is
  /// the loss. Under MetricSource::documents the loss is the sum over all their tokens.
  double (*value)(double loss, std::span<const int64_t> counts) = nullptr;
  std::string signature = {};  ///< settings that others need to compare the number; "" for none
  /// Returns the metric of MetricSource::scores for a scored set; NaN if it is undefined.
  double (*of_scores)(const model::LabelScores&) = nullptr;
  /// Under MetricSource::scores, true for a metric of models with one label, which is a number. The
  /// others measure models with classes.
  bool of_numbers = false;

  /// True if models with so many labels have the metric.
  bool measures(int64_t labels) const {
    return source != MetricSource::scores || of_numbers == (labels == 1);
  }
};

/// The name of the loss in checkpoint.best_metric. It needs no row: every evaluation measures it.
inline constexpr std::string_view kLossMetric = "validation_loss";

/// The units whose count divides a loss, as messages and logs name them.
inline constexpr const char *kByToken = "token", *kBySample = "sample";

/// A key of [data] or [evaluation] that acts only under some objectives.
struct OwnKey {
  std::string_view name;
  bool validates = false;  ///< acts only with a validation set
};

struct ObjectiveSettings {
  std::string_view name;  ///< for sentences about its samples
  /// Words behind "a model.name or model.family " for its families, if keys are its own.
  std::string_view families = {};
  /// The setting by which it acts among the objectives of a family, with its key; "" if none does.
  std::string_view setting = {}, setting_key = {};
  bool (*acts)(const RunConfig&) = nullptr;  ///< nullptr: under every configuration
  std::vector<OwnKey> keys = {};
  std::vector<Metric> metrics = {};
  bool takes_lists = false;                     ///< data.train may be a list of files
  const model::Objective* functions = nullptr;  ///< for rooms that know objectives; unused here

  /// Returns the objective's metric of that name, or null; key() likewise its own key.
  const Metric* metric(std::string_view metric_name) const;
  const OwnKey* key(std::string_view key_name) const;
};

/// Returns the objective that a configuration trains: the first of its family whose acts() holds.
/// Returns nullptr if `config` has no table of models.
const ObjectiveSettings* objective_of(const RunConfig& config);

/// Returns the names that checkpoint.best_metric takes, for any model of the table.
std::vector<std::string_view> metric_names(const ModelTable* table);

/// Returns the first objective in the table that has a metric called `metric`, or null.
const ObjectiveSettings* objective_with(const ModelTable* table, std::string_view metric);

/// Returns the error text if `metric` is for models with another number of labels than the
/// configured one. It lists the metrics of `objective` that fit. Returns "" if `metric` fits, or
/// the model's family counts no labels.
std::string fault_of_labels(const RunConfig& config, const ObjectiveSettings& objective,
                            const Metric& metric);

}  // namespace zero
