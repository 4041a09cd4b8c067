#pragma once

#include <string>
#include <vector>

#include "zero/config/model_keys.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

/// Returns a rule against settings that contradict each other.
Rule clash(std::vector<std::string> keys, bool (*holds)(const RunConfig&), const char* what,
           std::vector<std::string> example);

/// Returns the rules of [model] for every family.
std::vector<Rule> model_rules(const ModelConfig& model);

/// Returns the rules of [generation].
std::vector<Rule> generation_rules();

/// Returns the rules of [data] that depend on the model's objectives.
std::vector<Rule> data_rules(const ModelConfig& model);

/// Returns the rules of [checkpoint].
std::vector<Rule> checkpoint_rules();

/// Returns all rules, including those of the model's family.
std::vector<Rule> rules_for(const ModelConfig& model);

}  // namespace zero
