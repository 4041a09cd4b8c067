#include "src/config/import/translation.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "src/config/field_text.hpp"
#include "src/config/foreign_keys.hpp"
#include "src/config/key_assignment.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

bool is_auto(const TomlValue& value) { return value == TomlValue("auto"); }

/// Returns the boolean in quotes, "true" or "True", that DeepSpeed accepts.
std::optional<bool> quoted_boolean(const TomlValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  if (!word) return std::nullopt;
  if (*word == "true" || *word == "True") return true;
  if (*word == "false" || *word == "False") return false;
  return std::nullopt;
}

/// Returns the flags for suggestions. Flags of many scripts are too short for it.
std::vector<std::string> known_flags() {
  std::vector<std::string> known;
  for (const auto rules : {training_rules(), script_rules(), launcher_rules()}) {
    for (const ImportRule& rule : rules) std::ranges::copy(rule.keys(), std::back_inserter(known));
  }
  for (const AccelerateFlags& flags : accelerate_flags()) {
    for (const std::string& name : words_of(flags.names)) known.push_back("--" + name);
  }
  return known;
}

/// Returns a known flag that differs in one or two letters or begins with `flag`.
std::string nearest_flag(const std::string& flag) {
  constexpr size_t kMostEdits = 2, kShortest = 8;
  if (flag.size() < kShortest || flag.size() > kSourceMaxName) return "";
  for (const std::string& known : known_flags()) {
    const bool begins = known.starts_with(flag);
    if (begins || edit_distance(flag, known, kMostEdits) <= kMostEdits) return known;
  }
  return "";
}

/// Returns the reason of a Fixed key without its advice.
std::string reason_of(const Fixed& fixed) {
  return fixed.reason.substr(0, fixed.reason.rfind("; "));
}

}  // namespace

void Translation::give(std::span<const std::string> overrides) {
  for (const std::string& argument : overrides) {
    const size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    const Field* field = find(key);
    std::string wrong = has(key) ? "stands twice on the command line; keep one" : "";
    TomlValue value;
    if (equals == argument.npos || !field) {
      wrong = "is no key=value of an input file; zeroapp inputs reference lists every key";
    } else if (wrong.empty() && parse_toml_word(argument.substr(equals + 1), value, wrong)) {
      wrong = assign(*field, value);
    }
    if (!wrong.empty()) {
      refused_.push_back(text("command line: ", key, ": ", wrong));
      continue;
    }
    settings_[key] = {.value = value, .origin = "command line", .given = true};
  }
}

void Translation::begin_with(const StartReader& start) {
  const auto found = start ? start(config_) : std::nullopt;
  const bool is_said = !config_.model.name.empty() || !config_.model.family.empty();
  if (!found) return;
  if (!is_said) assign(*find("model.family"), TomlValue(std::string(found->family)));
  for (const auto& [name, count] : found->numbers.counts) {
    int64_t& number = config_.model.numbers.counts[name];
    if (number == 0 && config_.model.name.empty()) number = count;
  }
}

void Translation::translate(const Source& source, std::span<const ImportRule> rules,
                            bool same_names) {
  constexpr std::string_view kSwitch = ".enabled";
  for (const SourceEntry& entry : source) {
    seen_.insert(entry.key);
    if (!entry.key.ends_with(kSwitch)) continue;
    // Transformers enables apex by a flag, which is refused. Other sections without a key of ours
    // are never enabled by "auto".
    const bool nobody_asks = entry.value == TomlValue("auto") && !find(same_key(entry.key));
    if (entry.value == TomlValue(false) || nobody_asks) {
      off_.insert(entry.key.substr(0, entry.key.size() - kSwitch.size()));
    }
  }
  for (const SourceEntry& entry : source) {
    translate_entry(entry, find_rule(rules, entry.key), same_names);
  }
}

/// Drops flags that yield: counts win over shares and epochs, as in Transformers, and key=value
/// wins over both.
void Translation::leave_out_what_yields(Source& flags) {
  const auto counts = [&](std::string_view flag) {
    const TomlValue* value = value_in(flags, flag);
    const auto* count = value ? std::get_if<int64_t>(value) : nullptr;
    return count && *count > 0;
  };
  if (has("run.steps")) {
    pass_over(flags, "--num_train_epochs", "left out: run.steps is given");
  } else if (has("run.epochs")) {
    pass_over(flags, "--max_steps", "left out: run.epochs is given");
  } else if (counts("--max_steps")) {
    pass_over(flags, "--num_train_epochs", "left out: --max_steps wins, as in Transformers");
  }
  if (!counts("--warmup_steps")) return;
  pass_over(flags, "--warmup_ratio", "left out: --warmup_steps wins, as in Transformers");
}

/// Returns the number of steps in effect; 0 if unknown. --max_steps is already removed if it
/// yields.
int64_t Translation::steps_of(const Source& flags) const {
  const TomlValue* value = value_in(flags, "--max_steps");
  const auto* steps = value ? std::get_if<int64_t>(value) : nullptr;
  const bool legal = steps && *steps > 0 && *steps <= kMostRunSteps;
  return has("run.steps") || !legal ? config_.run.steps : *steps;
}

void Translation::follow_launch_line(LaunchLine line) {
  leave_out_what_yields(line.flags);
  resolve_shares(line.flags, steps_of(line.flags));
  std::string unread;
  for (const SourceEntry& entry : line.flags) {
    if (entry.value) {
      follow_flag(entry);
    } else {
      unread += " " + entry.key;
    }
  }
  if (!unread.empty()) say(text(kLaunchLine, ": not read:", unread));
  if (line.settings.empty()) return;
  unsupported({line.settings, std::nullopt, kLaunchLine},
              "a file of settings that the script reads; write them as flags or key=value, and "
              "remove it");
}

void Translation::follow_flag(const SourceEntry& entry) {
  constexpr std::string_view kFiles[] = {".json", ".yaml", ".yml", ".toml", ".args"};
  const auto* word = std::get_if<std::string>(&*entry.value);
  if (const ImportRule* rule = find_flag(entry.key)) return follow(entry, *rule);
  const auto ends = [&](std::string_view end) { return word && word->ends_with(end); };
  if (entry.key.find("conf") != entry.key.npos && std::ranges::any_of(kFiles, ends)) {
    return warn(entry, "a file of settings that the script reads; write them as key=value");
  }
  if (!entry.may_be.empty()) {
    return warn(entry, text("nothing to set: could be short for ", entry.may_be,
                            "; write the one that is meant whole"));
  }
  if (const std::string near = nearest_flag(entry.key); !near.empty()) {
    return warn(entry, text("nothing to set: no known flag; if ", near, " is meant, write that"));
  }
  tell(entry, "", "nothing to set: no flag of TrainingArguments that has a twin here");
}

/// Leaves the key open unless another source sets it.
void Translation::ask(const SourceEntry& entry, const ImportRule& rule) {
  const std::string key = rule.target(entry.key);
  const auto found = settings_.find(key);
  if (found != settings_.end() && found->second.given) {
    return tell(entry, "", text("given as ", key, " = ", to_text(found->second.value)));
  }
  asked_.insert(key);
  const std::optional<Target> target = follow_rule(rule, entry.key, *entry.value);
  const bool fits = target && takes(key, target->value);
  warn(entry, text("a flag of the script alone; if it is ", key, ", write ", key, "=",
                   fits ? plain_text(target->value) : "..."));
}

/// True if `value` is legal for the key.
bool Translation::takes(const std::string& key, const TomlValue& value) const {
  RunConfig scratch = config_;
  const std::vector<Field> fields = fields_of(scratch);
  const auto field = std::ranges::find(fields, key, &Field::key);
  return field != fields.end() && assign(*field, value).empty();
}

void Translation::pass_over(Source& source, std::string_view section, const std::string& why) {
  for (const SourceEntry& entry : source) {
    if (lies_in(entry.key, section)) tell(entry, "", why);
  }
  std::erase_if(source, [&](const SourceEntry& entry) { return lies_in(entry.key, section); });
}

void Translation::translate_entry(const SourceEntry& entry, const ImportRule* rule,
                                  bool same_names) {
  if (!entry.value) return tell(entry, "", "null: the default");
  if (entry.key.starts_with('_')) return tell(entry, "", "nothing to set: a comment");
  if (const auto boolean = quoted_boolean(*entry.value)) {
    say(text("warning: ", entry.place, ": ", said(entry), ": ", to_text(*entry.value),
             " is a string and taken as ", to_text(*boolean), "; write it without quotes"));
    return translate_entry({entry.key, *boolean, entry.place, entry.called}, rule, same_names);
  }
  if (is_overridden(entry)) return tell(entry, "", "left out: stage3_... stands beside it");
  if (rule) return follow(entry, *rule);
  const std::string key = same_names ? same_key(entry.key) : "";
  const DeepSpeedKeys* known = same_names ? find_deepspeed_key(entry.key) : nullptr;
  if (find(key)) {
    set(entry, {key, *entry.value}, "");
  } else if (is_off(entry.key)) {
    tell(entry, "", "switched off");
  } else if (known && (known->standing == Standing::hint || !known->only.empty())) {
    follow_fixed(entry, known->only, why_of(*known));
  } else {
    unsupported(entry, known ? why_of(*known) : unknown(entry.key));
  }
}

/// True if a key with "stage3_", which DeepSpeed prefers, stands beside this one.
bool Translation::is_overridden(const SourceEntry& entry) const {
  constexpr std::string_view kZero = "zero_optimization.";
  return entry.key.starts_with(kZero) &&
         seen_.count(text(kZero, "stage3_", entry.key.substr(kZero.size()))) != 0;
}

/// True if a section that holds the key has enabled = false.
bool Translation::is_off(const std::string& key) const {
  for (size_t dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1)) {
    if (off_.count(key.substr(0, dot))) return true;
  }
  return false;
}

void Translation::follow(const SourceEntry& entry, const ImportRule& rule) {
  const auto* word = std::get_if<std::string>(&*entry.value);
  if (rule.names_size && !(word && find_model_size(config_.model.table, *word))) {
    return unsupported(entry, std::string(rule.why));
  }
  if (rule.asks) return ask(entry, rule);
  if (rule.to.empty() && !rule.convert) return follow_fixed(entry, rule.only, rule.why);
  const std::optional<Target> target = follow_rule(rule, entry.key, *entry.value);
  if (!target) return unsupported(entry, std::string(rule.why));
  if (target->key.empty()) return tell(entry, "", "nothing to set");
  // The flag's value depends on a number that no source gives.
  if (is_auto(target->value) && entry.place == kLaunchLine) asked_.insert(target->key);
  set(entry, *target, rule.why);
}

/// Reports a key that sets nothing. `only`, if not "", is its one accepted value.
void Translation::follow_fixed(const SourceEntry& entry, std::string_view only,
                               std::string_view why) {
  if (only.empty()) return tell(entry, "", text("nothing to set: ", why));
  TomlValue wanted;
  std::string ignored;
  const bool fits = parse_toml_value(only, wanted, ignored) && same_value(wanted, *entry.value);
  if (fits || is_auto(*entry.value)) return tell(entry, "", "nothing to set");
  unsupported(entry, std::string(why));
}

void Translation::set(const SourceEntry& entry, const Target& target, std::string_view instead) {
  const Field* field = find(target.key);
  ZERO_REQUIRE(field, "the rule of ", entry.key, " names no key of an input file: ", target.key);
  const auto found = settings_.find(target.key);
  const Setting* before = found == settings_.end() ? nullptr : &found->second;
  if (before && before->given) {
    tell(entry, "", text("given as ", target.key, " = ", to_text(before->value)));
  } else if (is_auto(target.value) && before && !before->open) {
    tell(entry, "",
         text("derived: ", target.key, " = ", to_text(before->value), " of ", before->origin));
  } else if (is_auto(target.value)) {
    derive(entry, *field);
  } else if (before && !before->open && !is_auto(before->value) &&
             !same_value(before->value, target.value)) {
    refuse(entry, text("contradicts ", before->origin, ", where it is ", to_text(before->value),
                       "; keep one"));
  } else {
    assign_value(entry, *field, target.value, instead);
  }
}

void Translation::assign_value(const SourceEntry& entry, const Field& field, const TomlValue& value,
                               std::string_view instead) {
  const std::string wrong = assign(field, value);
  const auto* fixed = std::get_if<Fixed>(&field.binding);
  const bool choice = std::holds_alternative<OneOf>(field.binding);
  const bool typed = fixed && could_be_of(*fixed, value);
  const auto* hint = std::get_if<Hint>(&field.binding);
  if (wrong.empty() && hint) {
    tell(entry, field.key, text("hint: ", hint->reason));
  } else if (wrong.empty()) {
    keep(field, value, entry.place);
    tell(entry, field.key,
         fixed ? text("always so: ", reason_of(*fixed)) : text("mapped to ", field.key));
  } else if (typed || (choice && std::holds_alternative<std::string>(value))) {
    unsupported(entry, wrong + (instead.empty() ? "" : "; ") + std::string(instead));
  } else {
    refuse(entry, wrong);
  }
}

void Translation::derive(const SourceEntry& entry, const Field& field) {
  const bool asked = asked_.count(field.key) != 0;
  if (const auto derived = asked ? std::nullopt : derive_auto(field.key, config_)) {
    keep(field, derived->value, derived->how);
    return tell(
        entry, field.key,
        text("derived: ", field.key, " = ", to_text(derived->value), " (", derived->how, ")"));
  }
  const auto usual = hf_defaults_ && !asked ? hf_default(field.key) : std::nullopt;
  if (usual) {
    keep(field, *usual, kHfDefault);
    return tell(entry, field.key,
                text("derived: ", field.key, " = ", to_text(*usual), " (", kHfDefault, ")"));
  }
  if (std::holds_alternative<Hint>(field.binding)) return tell(entry, field.key, "derived");
  // A key whose only value is "auto" needs no answer.
  if (std::holds_alternative<Fixed>(field.binding) && assign(field, "auto").empty()) {
    return tell(entry, field.key, "derived");
  }
  settings_[field.key] = {.value = {}, .origin = entry.place, .open = true};
  if (depends_on_width(field.key)) return tell(entry, field.key, "needs the width of the model");
  tell(entry, field.key, text("needs ", field.key, "=..."));
}

/// Stores the value as the reference writes it: 200000000, not 2e8.
void Translation::keep(const Field& field, const TomlValue& value, const std::string& origin) {
  Setting& setting = settings_[field.key] = {.value = value, .origin = origin};
  const auto* fixed = std::get_if<Fixed>(&field.binding);
  const auto* real = std::get_if<double>(&value);
  if (!fixed) {
    assign(field, value);
    setting.value = value_of(field);
  } else if (real && std::holds_alternative<int64_t>(fixed->accepted[0]) &&
             *real == std::floor(*real) && std::fabs(*real) < double(kMostBytes)) {
    setting.value = int64_t(*real);
  }
}

const Field* Translation::find(std::string_view key) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const Field& field) { return field.key == key; });
  return found == fields_.end() ? nullptr : &*found;
}

/// Returns the keys for suggestions on an unknown key.
const std::vector<std::string>& Translation::known_keys() {
  std::vector<std::string>& known = known_keys_;
  if (!known.empty()) return known;
  for (const auto rules : {deepspeed_rules(), accelerate_rules()}) {
    for (const ImportRule& rule : rules) std::ranges::copy(rule.keys(), std::back_inserter(known));
  }
  for (const DeepSpeedKeys& keys : deepspeed_keys()) {
    if (keys.section.empty()) std::ranges::copy(words_of(keys.names), std::back_inserter(known));
  }
  for (const Field& field : fields_) known.push_back(deepspeed_key(field.key));
  return known;
}

std::string Translation::unknown(const std::string& key) {
  const std::string ours = same_key(key);
  const std::string advice = habit_advice(ours.empty() ? key : ours);
  if (!advice.empty()) return advice;
  const std::string near = nearest_key(key, known_keys());
  return "no such key" + (near.empty() ? "" : "; did you mean " + near + "?");
}

void Translation::tell(const SourceEntry& entry, const std::string& key, const std::string& what) {
  const std::string value = entry.value ? " = " + to_text(*entry.value) : "";
  lines_.push_back({key, text(entry.place, ": ", said(entry), value, ": "), what});
}

void Translation::warn(const SourceEntry& entry, const std::string& what) {
  const std::string value = entry.value ? " = " + to_text(*entry.value) : "";
  say(text("warning: ", entry.place, ": ", said(entry), value, ": ", what));
}

void Translation::retell(const std::string& key, const std::string& what) {
  for (Line& line : lines_) {
    if (line.key == key) line.fate = what;
  }
}

void Translation::refuse(const SourceEntry& entry, const std::string& what) {
  refused_.push_back(text(entry.place, ": ", said(entry), ": ", what));
}

void Translation::unsupported(const SourceEntry& entry, const std::string& what) {
  if (unsupported_ == Unsupported::leave_out) {
    tell(entry, "", "left out, unsupported: " + what);
  } else {
    refuse(entry, "unsupported: " + what);
  }
}

}  // namespace zero
