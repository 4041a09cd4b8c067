#pragma once
/// What the options of generate and a model's own word ask of texts, as one.

#include <cstdint>
#include <string>

#include "src/commands/command_line.hpp"
#include "zero/models/score_rules.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::commands {

/// What is written, completed by what the model in `place` says. Texts are drawn where a
/// temperature above 0 is written, or where none is and the model says so; where nobody says
/// among how many tokens, a written temperature draws among all. Throws Error(kUsage) for options
/// that contradict each other or the model, or have no effect; Error(kInput) where the model
/// contradicts itself.
GenerationConfig asked_generation(const CommandLine& line, const GenerationConfig& of_model,
                                  const std::string& place);

/// The rules of what asked_generation() has returned, of texts of up to `new_tokens` more where it
/// says no length. Throws as models::search_rules(), as Error(kUsage) with the option, or
/// Error(kInput) where the model says so; likewise where a least length exceeds `new_tokens`, or
/// is written and no token ends a text.
models::SearchRules asked_rules(const CommandLine& line, const models::StoredModel& model,
                                const GenerationConfig& asked, int64_t new_tokens);

}  // namespace zero::commands
