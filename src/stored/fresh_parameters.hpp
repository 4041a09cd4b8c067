#pragma once
/// Parameters that a training draws anew in place of a stored model's: model.reinit.

#include <string>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/model/recipe.hpp"
#include "zero/stored/stored_model.hpp"

namespace zero::stored {

/// Returns the objective of a training that begins with a model of this architecture; null if it
/// has the family's own head.
const model::Objective* training_head(const RunConfig& training, const model::Architecture& model);

/// Replaces the model's counts of the task (ModelCount::by_task) by those that the settings of a
/// training say. True if any differs, and then names of classes are dropped.
bool take_task(const RunConfig& training, ModelDescription& description);

/// Returns the parameters that match model.reinit, in the model's order. Returns none if `training`
/// is null. Throws Error(kUsage) as model::matched().
std::vector<std::string> fresh_parameters(const model::Architecture& model,
                                          const RunConfig* training);

/// Returns advice to draw the `lacking` of all `parameters` anew: "write model.reinit =
/// ["classifier.*"] to draw it anew". Its patterns match no other parameter.
std::string reinit_advice(const std::vector<std::string>& parameters,
                          const std::vector<std::string>& lacking);

}  // namespace zero::stored
