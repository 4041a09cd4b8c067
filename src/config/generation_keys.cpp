#include "zero/config/generation_keys.hpp"

#include <algorithm>
#include <span>

#include "src/config/field_text.hpp"
#include "src/config/key_assignment.hpp"
#include "src/config/key_conditions.hpp"
#include "src/config/key_contradictions.hpp"
#include "src/config/key_table.hpp"
#include "zero/base/error.hpp"
#include "zero/config/model_keys.hpp"

namespace zero {
namespace {

constexpr std::string_view kSection = "generation.";

std::string key_of(std::string_view name) { return text(kSection, name); }

std::vector<Field> own_fields(GenerationConfig& config) {
  Table table;
  generation_fields(table, config);
  return table.take();
}

bool is_auto(const Field& field) { return value_of(field) == TomlValue("auto"); }

// The following functions return an error text, "" if the settings are consistent.

std::string drawn_beams(const GenerationConfig& c) {
  if (c.num_beams.value_or(1) == 1 || !c.do_sample.value_or(false)) return "";
  return text("beams follow the likeliest texts and draw none; write do_sample = false, or ",
              "num_beams = 1");
}

std::string two_lengths(const GenerationConfig& c) {
  if (!c.max_length || !c.max_new_tokens) return "";
  return "max_length is max_new_tokens with the beginning; remove one of them";
}

std::string short_texts(const GenerationConfig& c) {
  const auto exceeds = [](const auto& least, const auto& most) {
    return least && most && *least > *most;
  };
  // The end token counts towards the length.
  if (exceeds(c.min_length, c.max_length) && !c.min_new_tokens) {
    return text("no text ends before ", *c.min_length, " tokens, and none has more than ",
                *c.max_length, "; write min_length = ", *c.max_length, " or less");
  }
  if (exceeds(c.min_new_tokens, c.max_new_tokens)) {
    return text("no text ends before ", *c.min_new_tokens, " new tokens, and none has more than ",
                *c.max_new_tokens, "; write min_new_tokens = ", *c.max_new_tokens, " or less");
  }
  return "";
}

struct GenerationRule {
  std::vector<const char*> names;
  std::string (*broken)(const GenerationConfig&);
  std::vector<std::string> example;
};

const GenerationRule kRules[] = {
    {{"num_beams", "do_sample"},
     drawn_beams,
     {"generation.do_sample = true", "generation.num_beams = 4"}},
    {{"max_length", "max_new_tokens"},
     two_lengths,
     {"generation.max_length = 20", "generation.max_new_tokens = 20"}},
    {{"min_length", "max_length", "min_new_tokens", "max_new_tokens"},
     short_texts,
     {"generation.max_length = 20", "generation.min_length = 21"}},
};

std::vector<std::string> keys_of(const GenerationRule& rule) {
  std::vector<std::string> keys;
  for (const char* name : rule.names) keys.push_back(key_of(name));
  return keys;
}

/// A group of keys that act only under a switch.
struct Switched {
  std::vector<const char*> names;
  const char* by;
  const char* wanted;
  const char* off;  ///< value under which they have no effect
  bool (*holds)(const GenerationConfig&);
};

const Switched kSwitched[] = {
    {{"temperature", "top_k", "top_p"},
     "do_sample",
     "generation.do_sample = true",
     "false",
     [](const GenerationConfig& c) { return c.do_sample.value_or(false); }},
    {{"length_penalty", "early_stopping"},
     "num_beams",
     "a generation.num_beams above 1",
     "1",
     [](const GenerationConfig& c) { return c.num_beams.value_or(1) > 1; }},
};

/// Returns the first of the named keys that is not "auto"; nothing if all are.
std::optional<Field> said_of(std::span<const Field> fields, const std::vector<const char*>& names) {
  const auto is_said = [&](const Field& field) {
    return std::ranges::any_of(names,
                               [&](const char* name) { return field.key == key_of(name); }) &&
           !is_auto(field);
  };
  const auto found = std::ranges::find_if(fields, is_said);
  return found == fields.end() ? std::nullopt : std::optional(*found);
}

/// True if the switch is on, or if it is open and a file of the model may turn it on.
bool may_hold(const Switched& row, const RunConfig& config) {
  if (row.holds(config.generation)) return true;
  if (config.model.init_from.empty()) return false;
  GenerationConfig generation = config.generation;
  return !said_of(own_fields(generation), {row.by});
}

}  // namespace

void generation_fields(Table& table, GenerationConfig& c) {
  constexpr double kLongest = 1 << 24;
  const Range length{.low = 1, .high = kLongest, .automatic = true};
  const Range count{.high = kLongest, .automatic = true};
  table.section("generation", Standing::ours);
  const auto add = [&](const char* name, auto& value, const Range& range = {.automatic = true}) {
    table.other(name, Open{&value, range});
  };
  add("max_length", c.max_length, {.low = 2, .high = kLongest, .automatic = true});
  add("max_new_tokens", c.max_new_tokens, length);
  add("min_length", c.min_length, count);
  add("min_new_tokens", c.min_new_tokens, count);
  add("do_sample", c.do_sample);
  add("temperature", c.temperature, {.high = 1e6, .above_low = true, .automatic = true});
  add("top_k", c.top_k, count);
  add("top_p", c.top_p, {.high = 1, .above_low = true, .automatic = true});
  add("num_beams", c.num_beams, {.low = 1, .high = 1000, .automatic = true});
  add("length_penalty", c.length_penalty, {.low = -100, .high = 100, .automatic = true});
  add("early_stopping", c.early_stopping);
  add("repetition_penalty", c.repetition_penalty,
      {.high = 1e6, .above_low = true, .automatic = true});
  add("no_repeat_ngram_size", c.no_repeat_ngram_size, count);
  add("encoder_no_repeat_ngram_size", c.encoder_no_repeat_ngram_size, count);
  add("forced_bos_token_id", c.forced_bos_token_id, count);
  add("forced_eos_token_id", c.forced_eos_token_id, count);
  add("suppress_tokens", c.suppress_tokens, count);
  add("begin_suppress_tokens", c.begin_suppress_tokens, count);
  add("eos_token_id", c.eos_token_id, count);
}

std::vector<Rule> generation_rules() {
  std::vector<Rule> rules;
  for (const GenerationRule& row : kRules) {
    rules.push_back({.keys = keys_of(row),
                     .broken = [&row](const RunConfig& c) { return row.broken(c.generation); },
                     .example = row.example});
  }
  return rules;
}

std::vector<Condition> generation_conditions() {
  std::vector<Condition> conditions;
  for (const Switched& row : kSwitched) {
    Condition& condition = conditions.emplace_back();
    for (const char* name : row.names) condition.keys.push_back(key_of(name));
    condition.because = {key_of(row.by)};
    condition.wanted = row.wanted;
    condition.holds = [&row](const RunConfig& c) { return may_hold(row, c); };
    condition.example = {text(key_of(row.by), " = ", row.off)};
  }
  return conditions;
}

std::optional<std::string> assign_generation(GenerationConfig& config, std::string_view name,
                                             const TomlValue& value) {
  for (const Field& field : own_fields(config)) {
    if (field.key == key_of(name)) return assign(field, value);
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, TomlValue>> generation_values(const GenerationConfig& config) {
  GenerationConfig copy = config;
  std::vector<std::pair<std::string, TomlValue>> values;
  for (const Field& field : own_fields(copy)) {
    if (!is_auto(field)) values.emplace_back(field.key.substr(kSection.size()), value_of(field));
  }
  return values;
}

GenerationConfig completed(GenerationConfig config, const GenerationConfig& under) {
  GenerationConfig below = under;
  if (config.max_length || config.max_new_tokens) below.max_length = below.max_new_tokens = {};
  if (config.min_length || config.min_new_tokens) below.min_length = below.min_new_tokens = {};
  const std::vector<Field> fields = own_fields(config), others = own_fields(below);
  for (size_t i = 0; i < fields.size(); ++i) {
    if (is_auto(fields[i])) assign(fields[i], value_of(others[i]));
  }
  return config;
}

GenerationConfig generation_in(std::string_view text) {
  GenerationConfig config;
  for (const TomlEntry& entry : parse_toml(text).entries) {
    if (!entry.key.starts_with(kSection)) continue;
    assign_generation(config, std::string_view(entry.key).substr(kSection.size()), entry.value);
  }
  return config;
}

void require_generation(const GenerationConfig& config, const GenerationConfig& under) {
  const GenerationConfig all = completed(config, under);
  for (const GenerationRule& row : kRules) {
    const std::string what = row.broken(all);
    if (!what.empty()) refuse_settings(keys_of(row), what);
  }
  GenerationConfig own = config;
  const std::vector<Field> fields = own_fields(own);
  for (const Switched& row : kSwitched) {
    const std::optional<Field> idle = row.holds(all) ? std::nullopt : said_of(fields, row.names);
    if (!idle) continue;
    refuse_settings({idle->key, key_of(row.by)}, to_text(value_of(*idle)),
                    " has no effect: it acts only with ", row.wanted);
  }
}

}  // namespace zero
