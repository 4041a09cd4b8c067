#include <algorithm>
#include <functional>
#include <utility>

#include "src/commands/generate_command.hpp"
#include "zero/base/error.hpp"

namespace zero::commands {
namespace {

constexpr std::string_view kSection = "generation.";

/// Returns the written settings. A temperature decides if texts are drawn.
GenerationConfig written_in(const CommandLine& line) {
  GenerationConfig written = line.generation;
  if (!written.temperature) return written;
  written.do_sample = *written.temperature > 0;
  if (!*written.do_sample) written.temperature.reset();
  return written;
}

/// Returns "--min-length" for "min_length"; "" without an option.
std::string option_of(std::string_view name) {
  if (name == "max_new_tokens") return "--tokens";
  if (name == "do_sample") return "--temperature";
  if (name == "eos_token_id") return "";
  std::string option = text("--", name);
  std::ranges::replace(option, '_', '-');
  return option;
}

/// Turns "write min_length = 5" into "write --min-length 5", for a command line.
std::string with_options(std::string problem, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string setting = name + " = ";
    for (size_t at; (at = problem.find(setting)) != problem.npos;)
      problem.replace(at, setting.size(), option_of(name) + " ");
  }
  return problem;
}

/// Refuses the written option at fault, else the model.
[[noreturn]] void refuse_as_asked(const GenerationConfig& written, const std::string& place,
                                  const SettingsError& error) {
  std::vector<std::string> names;
  for (const std::string& key : error.keys()) {
    if (key.starts_with(kSection)) names.push_back(key.substr(kSection.size()));
  }
  const std::string problem = with_options(error.problem(), names);
  for (const auto& [name, value] : generation_values(written)) {
    if (std::ranges::find(names, name) == names.end()) continue;
    refuse(Exit::kUsage, "command line: ", option_of(name), ": ", problem);
  }
  const std::string option = option_of(names.at(0));
  refuse(Exit::kInput, place, ": its generation: ", names[0], ": ", problem,
         option.empty() ? "" : "; what is written with " + option + " wins");
}

/// Refuses beams that draw. The command line or the model may set either.
void require_no_drawn_beams(const GenerationConfig& written, const GenerationConfig& all,
                            const std::string& place) {
  if (all.num_beams.value_or(1) == 1 || !all.do_sample.value_or(false)) return;
  if (written.num_beams && written.temperature) {
    refuse(Exit::kUsage, "command line: --num-beams and --temperature: beams draw nothing; ",
           "write one of them");
  }
  if (written.num_beams) {
    refuse(Exit::kUsage, "command line: --num-beams: beams draw nothing, and the generation of ",
           place, " has do_sample = true; write --temperature 0 as well");
  }
  if (written.temperature) {
    refuse(Exit::kUsage, "command line: --temperature: beams draw nothing, and the generation of ",
           place, " has num_beams = ", *all.num_beams, "; write --num-beams 1 as well");
  }
  refuse(Exit::kInput, place, ": its generation: num_beams and do_sample: beams draw nothing; ",
         "write --num-beams 1, or --temperature 0");
}

/// Refuses two options if one would replace the other.
void require_one_of_two(const GenerationConfig& written) {
  if (written.max_new_tokens && written.max_length) {
    refuse(Exit::kUsage, "command line: --tokens and --max-length: both say how long a text ",
           "becomes; write one of them");
  }
  if (written.min_new_tokens && written.min_length) {
    refuse(Exit::kUsage, "command line: --min-new-tokens and --min-length: both say how short a ",
           "text may be; write one of them");
  }
}

/// Refuses a least length if no token ends a text, because no text then ends early.
void require_ends(const GenerationConfig& written, const std::string& place,
                  const writing::ScoreRules& rules) {
  if (!rules.eos_token_id.empty()) return;
  for (const auto& [name, least] : {std::pair("--min-length", written.min_length),
                                    {"--min-new-tokens", written.min_new_tokens}}) {
    if (least.value_or(0) == 0) continue;
    refuse(Exit::kUsage, "command line: ", name, ": no token ends a text of ", place,
           ", so that none ends before --tokens; leave it out, or name an eos_token_id in ",
           "its generation_config.json or [generation]");
  }
}

/// Refuses a least length above the default, which no option raises.
void require_default_length(const GenerationConfig& asked, int64_t new_tokens) {
  if (asked.max_length || asked.max_new_tokens) return;
  const int64_t least = asked.min_new_tokens.value_or(0);
  if (least <= new_tokens) return;
  refuse_settings({"generation.min_new_tokens"}, "no text ends before ", least,
                  " new tokens, and none has more than ", new_tokens, "; write --tokens ", least,
                  " as well");
}

/// Refuses options that act only among beams, or only on drawn texts, if they do nothing.
void require_effect(const CommandLine& line, const GenerationConfig& written,
                    const GenerationConfig& all) {
  const bool beams = all.num_beams.value_or(1) > 1, draws = all.do_sample.value_or(false);
  for (const auto& [name, is_idle] :
       {std::pair("--length-penalty", written.length_penalty && !beams),
        {"--early-stopping", written.early_stopping && !beams}}) {
    if (!is_idle) continue;
    refuse(Exit::kUsage, "command line: ", name, ": compares beams, and there is one; ",
           "write --num-beams 4 as well");
  }
  for (const auto& [name, is_idle] : {std::pair("--top-k", written.top_k && !draws),
                                      {"--top-p", written.top_p && !draws},
                                      {"--seed", line.seed > 0 && !draws}}) {
    if (!is_idle) continue;
    refuse(Exit::kUsage, "command line: ", name, ": nothing is drawn at temperature 0; ",
           "write --temperature 0.8 as well");
  }
}

}  // namespace

GenerationConfig asked_generation(const CommandLine& line, const GenerationConfig& of_model,
                                  const std::string& place) {
  const GenerationConfig written = written_in(line);
  GenerationConfig all = completed(written, of_model);
  require_one_of_two(written);
  require_no_drawn_beams(written, all, place);
  require_effect(line, written, all);
  try {
    require_generation(written, of_model);
  } catch (const SettingsError& error) {
    refuse_as_asked(written, place, error);
  }
  if (written.temperature && !all.top_k) all.top_k = 0;
  return all;
}

writing::SearchRules asked_rules(const CommandLine& line, const stored::StoredModel& model,
                                 const GenerationConfig& asked, int64_t new_tokens) {
  const GenerationConfig written = written_in(line);
  try {
    const writing::SearchRules rules =
        writing::search_rules(asked, model.description().model, new_tokens, uint64_t(line.seed));
    require_ends(written, model.path(), rules.scores);
    require_default_length(asked, new_tokens);
    return rules;
  } catch (const SettingsError& error) {
    refuse_as_asked(written, model.path(), error);
  }
}

GenerationConfig ended_generation(const Writer& writer) {
  GenerationConfig asked = writer.generation;
  const int32_t end = writer.tokenizer.special_ids().eos;
  if (!asked.eos_token_id && writer.form().ids.end < 0 && end >= 0)
    asked.eos_token_id = std::vector<int64_t>{end};
  return asked;
}

}  // namespace zero::commands
