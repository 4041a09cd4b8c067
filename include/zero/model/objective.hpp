#pragma once
/// Objectives: the tasks that models are trained on, each a row. src/model/objectives/list.cpp
/// lists them.

#include <string_view>
#include <vector>

#include "zero/config/objective_keys.hpp"
#include "zero/graph/graph_builder.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/model/family.hpp"

namespace zero::model {

struct Objective {
  ObjectiveSettings settings;      ///< without the keys of its data
  const DataKind* data = nullptr;  ///< fills the inputs of its graphs
  /// Unit of the loss, for sentences and for keys of logs.
  const char* counted_by = kByToken;
  /// Output of evaluation graphs, i64, that metrics of MetricSource::samples add up; "" for none.
  std::string_view counts = "";
  bool answers_users = true;  ///< the model's texts go on as a user would have them
  /// True if head() fits the trunk of a family that does not name the objective. nullptr: never.
  bool (*fits)(const Family&) = nullptr;
  /// Adds a head with the loss to the builder, behind a model's trunk. nullptr: the family's own
  /// head.
  void (*head)(graph::GraphBuilder&, const Architecture&, const Trunk&,
               const ForwardOptions&) = nullptr;

  /// True if the objective has metrics of this source.
  bool measures(MetricSource source) const;
};

/// Returns the objective whose sample is a text, of which each token is predicted.
const Objective& next_token_objective();
/// Returns the objective whose sample has documents, of which the learnt tokens are predicted. A
/// family names it in front of "tokens": it acts for files of documents.
const Objective& document_objective();
/// Returns the objectives whose sample has a source and a target: texts of files, or texts with
/// spans to restore.
const Objective& pair_objective();
const Objective& span_objective();
/// Returns the objective whose sample is one text or two with a label: a class, or a number for
/// models of one label.
const Objective& label_objective();

/// Returns all objectives.
std::vector<const Objective*> objectives();

/// Returns the objective that a checked configuration trains.
const Objective& objective_for(const RunConfig& config);

/// Returns the metric exp(loss).
Metric perplexity_metric();
/// Returns the metrics of objectives that predict each token: perplexity_metric() and those of
/// scored texts (choice_scores.hpp). scoring_keys() name the texts.
std::vector<Metric> token_metrics();
std::vector<OwnKey> scoring_keys();
/// Returns the metrics of scores beside labels (label_scores.hpp).
std::vector<Metric> label_metrics();

}  // namespace zero::model
