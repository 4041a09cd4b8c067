#pragma once

#include <vector>

#include "zero/config/model_keys.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

/// Returns the rules of [model] for every family.
std::vector<Rule> model_rules(const ModelConfig& model);

/// Returns the rules of [generation].
std::vector<Rule> generation_rules();

/// Returns the rules of [data] that depend on the model's objectives.
std::vector<Rule> data_rules(const ModelConfig& model);

/// Returns all rules, including those of the model's family.
std::vector<Rule> rules_for(const ModelConfig& model);

}  // namespace zero
