#include "zero/config/key_help.hpp"

#include <algorithm>

#include "src/config/field_text.hpp"
#include "src/config/fields.hpp"
#include "src/config/import/rules.hpp"
#include "src/config/key_conditions.hpp"
#include "src/config/reference_text.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using Words = std::vector<std::string>;

/// Returns the legal words of a key; none for numbers, texts and lists.
struct WordsOf {
  Words operator()(const bool*) const { return {"true", "false"}; }
  Words operator()(const Integer& binding) const { return of_range(binding.range); }
  Words operator()(const Real& binding) const { return of_range(binding.range); }
  Words operator()(const Size&) const { return {"auto"}; }
  Words operator()(const Duration&) const { return {}; }
  Words operator()(const GroupSize&) const { return {"all", "node"}; }
  Words operator()(const std::string*) const { return {}; }
  Words operator()(const std::vector<std::string>*) const { return {}; }
  Words operator()(const std::array<double, 2>*) const { return {}; }
  Words operator()(const Recompute*) const { return {"none", "selective", "full", "auto"}; }
  Words operator()(const OneOf& binding) const {
    Words words;
    for (const std::string_view name : binding.names) {
      if (!name.empty()) words.emplace_back(name);
    }
    return words;
  }
  Words operator()(const Fixed& binding) const {
    Words words;
    for (const TomlValue& value : binding.accepted) words.push_back(plain_text(value));
    return words;
  }
  Words operator()(const Hint& binding) const {
    if (std::holds_alternative<bool>(binding.fallback)) return {"true", "false"};
    return of_range(binding.range);
  }
  Words operator()(const Open& binding) const {
    if (std::holds_alternative<std::optional<bool>*>(binding.value)) {
      return {"auto", "true", "false"};
    }
    const bool is_end = std::holds_alternative<std::optional<BeamEnd>*>(binding.value);
    return is_end ? Words{"auto", "true", "false", "never"} : Words{"auto"};
  }
  Words operator()(const DataPaths&) const { return {"synthetic"}; }

  static Words of_range(const Range& range) {
    Words words;
    if (range.automatic) words.emplace_back("auto");
    if (range.maximum) words.insert(words.end(), {"max", "best"});
    return words;
  }
};

void add_once(Words& words, const std::string& word) {
  if (std::ranges::find(words, word) == words.end()) words.push_back(word);
}

/// Adds the names under which the rules set a key.
void add_sources(std::span<const ImportRule> rules, const std::string& key, Words& names) {
  for (const ImportRule& rule : rules) {
    if (rule.to.empty() || rule.asks) continue;
    for (const std::string& name : rule.keys()) {
      if (rule.target(name) == key) add_once(names, name);
    }
  }
}

Words names_in_deepspeed(const Field& field) {
  Words names;
  const std::string twin = deepspeed_key(field.key);
  if (field.standing != Standing::ours && !twin.empty()) names.push_back(twin);
  add_sources(deepspeed_rules(), field.key, names);
  return names;
}

Words names_in_transformers(const Field& field) {
  Words names;
  add_sources(training_rules(), field.key, names);
  add_sources(script_rules(), field.key, names);
  if (section_of(field.key) == "generation") {
    add_once(names, "GenerationConfig." + field.key.substr(field.key.find('.') + 1));
  }
  return names;
}

std::string remark_of(const Field& field) {
  if (!field.alias_of.empty()) return "the same setting as " + field.alias_of;
  if (!field.note.empty()) return std::string(field.note);
  if (const auto* fixed = std::get_if<Fixed>(&field.binding)) return fixed->reason;
  const auto* hint = std::get_if<Hint>(&field.binding);
  return hint ? text("a hint: ", hint->reason) : "";
}

std::string wanted_by(const std::vector<Condition>& all, const std::string& key) {
  std::string words;
  for (const Condition& condition : all) {
    if (std::ranges::find(condition.keys, key) == condition.keys.end()) continue;
    words += text(words.empty() ? "" : "; and with ", condition.wanted);
  }
  return words;
}

/// Returns the names of models, which the catalogue takes as any text.
Words model_names(const ModelTable& models) {
  Words names;
  for (const ModelFamily& family : models) {
    for (const ModelSize& size : family.sizes) names.emplace_back(size.name);
  }
  return names;
}

bool means(const KeyHelp& key, std::string_view name) {
  const auto is_it = [name](const std::string& other) { return other == name; };
  const bool is_last = key.key.size() > name.size() && key.key.ends_with(name) &&
                       key.key[key.key.size() - name.size() - 1] == '.';
  return is_last || (!key.section.empty() && key.section == name) ||
         std::ranges::any_of(key.deepspeed, is_it) || std::ranges::any_of(key.transformers, is_it);
}

}  // namespace

std::vector<KeyHelp> key_help(const ModelTable& models) {
  RunConfig config;
  config.model.table = &models;
  const std::vector<Condition> all = conditions(&models);
  const std::map<std::string, ReferenceEntry> reference = entries_of_reference(reference_text());
  std::vector<KeyHelp> keys;
  for (const Field& field : fields_of(config)) {
    KeyHelp key{.key = field.key,
                .section = std::string(section_of(field.key)),
                .fallback = to_text(value_of(field)),
                .legal = legal_values(field),
                .remark = remark_of(field),
                .acts_with = wanted_by(all, field.key),
                .values = std::visit(WordsOf(), field.binding),
                .deepspeed = names_in_deepspeed(field),
                .transformers = names_in_transformers(field)};
    if (const auto found = reference.find(field.key); found != reference.end()) {
      key.text = found->second.text;
      key.group = found->second.group;
    }
    if (field.key == "model.name") key.values = model_names(models);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<KeyHelp> keys_called(const std::vector<KeyHelp>& keys, std::string_view name) {
  const bool in_brackets = name.starts_with("[") && name.ends_with("]") && name.size() > 2;
  if (in_brackets) name = name.substr(1, name.size() - 2);
  std::vector<KeyHelp> found;
  for (const KeyHelp& key : keys) {
    if (key.key == name) return {key};
    if (in_brackets ? key.section == name : means(key, name)) found.push_back(key);
  }
  return found;
}

}  // namespace zero
