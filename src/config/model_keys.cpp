#include "zero/config/model_keys.hpp"

#include <algorithm>
#include <set>

#include "src/config/key_contradictions.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

struct Named {
  const ModelFamily* family = nullptr;
  const ModelSize* size = nullptr;
};

template <class Number>
Number written(const std::map<std::string, Number, std::less<>>& numbers, std::string_view name,
               Number otherwise) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? otherwise : found->second;
}

template <class Number>
Number number(const std::map<std::string, Number, std::less<>>& numbers, std::string_view name) {
  const auto found = numbers.find(name);
  ZERO_REQUIRE(found != numbers.end(), "the model has no number \"", name, "\"");
  return found->second;
}

Named find(const ModelTable* table, std::string_view name) {
  if (!table) return {};
  for (const ModelFamily& family : *table) {
    for (const ModelSize& size : family.sizes) {
      if (size.name == name) return {&family, &size};
    }
  }
  return {};
}

const std::string kFine;  // returned by a rule that holds

bool is_named(const RunConfig& c) { return !c.model.name.empty(); }

bool has_size(const RunConfig& c) {
  return !is_named(c) || find_model_size(c.model.table, c.model.name);
}

std::string key_of(std::string_view name) { return text("model.", name); }

std::vector<std::string> names_of(const ModelFamily& family) {
  std::vector<std::string> names;
  for (const ModelCount& count : family.counts) {
    if (!count.by_task) names.emplace_back(count.name);
  }
  return names;
}

/// Returns names_of() and those of rates that "auto" derives.
std::vector<std::string> all_names_of(const ModelFamily& family) {
  std::vector<std::string> names = names_of(family);
  for (const ModelRate& rate : family.rates) {
    if (rate.range.automatic) names.emplace_back(rate.name);
  }
  return names;
}

int64_t written_count(const RunConfig& c, const std::string& name) {
  const auto found = c.model.numbers.counts.find(name);
  return found == c.model.numbers.counts.end() ? 0 : found->second;
}

/// Returns the line for the smallest size, "model.name = \"small\""; "" for a family without sizes.
std::string size_line(const ModelFamily& family) {
  if (family.sizes.empty()) return "";
  return text("model.name = \"", family.sizes.front().name, "\"");
}

/// Returns the names of the required numbers.
std::vector<std::string> needed_by(const ModelFamily& family) {
  std::vector<std::string> names;
  for (const ModelCount& count : family.counts) {
    if (!count.otherwise) names.emplace_back(count.name);
  }
  return names;
}

/// Returns "layers, width and heads", with `last` before the last name.
std::string listed(const std::vector<std::string>& names, const char* last) {
  std::string all;
  for (size_t i = 0; i < names.size(); ++i) {
    all += (i == 0 ? "" : i + 1 == names.size() ? last : ", ") + names[i];
  }
  return all;
}

/// Returns model.name and the keys of the numbers in `names`.
std::vector<std::string> with_name(const std::vector<std::string>& names) {
  std::vector<std::string> keys = {"model.name"};
  for (const std::string& name : names) keys.push_back(key_of(name));
  return keys;
}

std::string unknown_model(const RunConfig& c) {
  if (has_size(c)) return kFine;
  std::vector<std::string> names;
  for (const ModelFamily& family : *c.model.table) {
    for (const ModelSize& size : family.sizes) names.emplace_back(size.name);
  }
  const std::string near = nearest_key(c.model.name, names);
  return text(
      "\"", c.model.name, "\" is no model; ",
      near.empty() ? "write one of " + listed(names, ", ") : "did you mean \"" + near + "\"?");
}

std::string model_twice(const RunConfig& c) {
  const std::vector<std::string> names = names_of(family_of(c.model));
  const bool numbers = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return written_count(c, name) != 0;
  });
  if (!is_named(c)) return kFine;
  if (numbers) {
    return text("model.name = \"", c.model.name,
                "\" already says the numbers of the model; remove the name or ",
                listed(names, ", "));
  }
  const ModelSize* size = find_model_size(c.model.table, c.model.name);
  for (const ModelRate& rate : family_of(c.model).rates) {
    const double asked = written(c.model.numbers.rates, rate.name, 0.0);
    if (!size || !rate.range.automatic || asked == 0) continue;
    if (asked == written(size->rates, rate.name, rate.usual)) continue;
    return text("model.name = \"", c.model.name, "\" already says ", rate.name,
                "; remove it or the name");
  }
  return kFine;
}

std::string no_model(const RunConfig& c) {
  const ModelFamily& family = family_of(c.model);
  const std::vector<std::string> needed = needed_by(family);
  const bool numbers = std::all_of(needed.begin(), needed.end(), [&](const std::string& name) {
    return written_count(c, name) != 0;
  });
  if (is_named(c) || numbers) return kFine;
  const std::string named = size_line(family), &start = c.model.init_from;
  return text("the model has no size",
              start.empty() ? "" : ", and model.init_from, which would say it, is not there",
              "; write ", named, named.empty() ? "" : ", or ", listed(needed, " and "));
}

std::string another_family(const RunConfig& c) {
  const ModelFamily& family = family_of(c.model);
  if (c.model.family.empty() || c.model.family == family.name) return kFine;
  return text("model.name = \"", c.model.name, "\" is of the family \"", family.name,
              "\"; remove model.family or the name");
}

std::string absent_block(const RunConfig& c) {
  if (c.recompute.layers.empty()) return kFine;
  const int64_t last = c.recompute.layers.back();
  const int64_t blocks = block_count(c);
  if (blocks == 0 || last < blocks) return kFine;
  return text("recompute names block ", last, " of a model of ", counted(blocks, "block"),
              ", counted from 0; write at most ", blocks - 1);
}

/// Returns the rule against a number that only other families have. `untouched` is its default.
Rule foreign_number(const ModelFamily& family, const ModelFamily& other, std::string_view name,
                    double untouched, const std::string& touched) {
  const auto broken = [&family, &other, name, untouched](const RunConfig& c) {
    const auto count = c.model.numbers.counts.find(name);
    const auto rate = c.model.numbers.rates.find(name);
    const bool none = count == c.model.numbers.counts.end() || double(count->second) == untouched;
    if (none && (rate == c.model.numbers.rates.end() || rate->second == untouched)) return kFine;
    return text("the family \"", family.name, "\" has no such number; remove it, or write ",
                "model.family = \"", other.name, "\"");
  };
  return {.keys = {"model.family", "model.name", key_of(name)},
          .broken = broken,
          .example = {key_of(name) + " = " + touched}};
}

void add_foreign(const ModelTable& table, const ModelFamily& family, std::vector<Rule>& rules) {
  std::set<std::string_view>
      known;  // the first family of the table that has a number stands for it
  const auto lacks = [&](const auto& numbers, std::string_view name) {
    return std::none_of(numbers.begin(), numbers.end(),
                        [&](const auto& number) { return number.name == name; }) &&
           known.insert(name).second;
  };
  for (const ModelFamily& other : table) {
    for (const ModelCount& count : other.counts) {
      if (!lacks(family.counts, count.name)) continue;
      rules.push_back(foreign_number(family, other, count.name, 0, written_as(count, 1)));
    }
    for (const ModelRate& rate : other.rates) {
      if (!lacks(family.rates, rate.name)) continue;
      rules.push_back(foreign_number(family, other, rate.name, rate.initial, "1"));
    }
  }
}

}  // namespace

std::string written_as(const ModelCount& count, int64_t number) {
  if (count.words.empty() || number == 0) return text(number);
  return text('"', count.words.at(size_t(number) - 1), '"');
}

int64_t said_by_task(const RunConfig& config, const ModelCount& count) {
  const int64_t number = written<int64_t>(config.model.numbers.counts, count.name, 0);
  return number == 0 ? count.by_task(config) : number;
}

int64_t ModelNumbers::count(std::string_view name) const { return number(counts, name); }

double ModelNumbers::rate(std::string_view name) const { return number(rates, name); }

const std::vector<double>& ModelNumbers::list(std::string_view name) const {
  static const std::vector<double> kNothing;
  const auto found = lists.find(name);
  return found == lists.end() ? kNothing : found->second;
}

const ModelFamily& family_of(const ModelConfig& model) {
  ZERO_REQUIRE(model.table && !model.table->empty(), "no family of models");
  if (const ModelFamily* named = find(model.table, model.name).family) return *named;
  const auto found =
      std::find_if(model.table->begin(), model.table->end(),
                   [&](const ModelFamily& family) { return family.name == model.family; });
  return found == model.table->end() ? model.table->front() : *found;
}

const ModelSize* find_model_size(const ModelTable* table, std::string_view name) {
  return find(table, name).size;
}

ModelNumbers model_numbers(const RunConfig& config) {
  const ModelFamily& family = family_of(config.model);
  const ModelSize* size = find_model_size(config.model.table, config.model.name);
  ModelNumbers numbers;
  for (size_t i = 0; i < family.counts.size(); ++i) {
    const ModelCount& count = family.counts[i];
    int64_t& number = numbers.counts[std::string(count.name)];
    if (count.by_task)
      number = said_by_task(config, count);
    else
      number =
          size ? size->counts[i] : written<int64_t>(config.model.numbers.counts, count.name, 0);
    if (number == 0 && count.otherwise) number = count.otherwise(config);
  }
  for (const ModelRate& rate : family.rates) {
    double& number = numbers.rates[std::string(rate.name)];
    number = written(config.model.numbers.rates, rate.name, rate.initial);
    if (number != 0 || !rate.range.automatic) continue;
    number = size ? written(size->rates, rate.name, rate.usual) : rate.usual;
  }
  numbers.lists = config.model.numbers.lists;
  return numbers;
}

int64_t block_count(const RunConfig& config) {
  const ModelConfig& model = config.model;
  if (!model.name.empty() && !find_model_size(model.table, model.name)) return 0;
  return block_count(family_of(model), model_numbers(config));
}

int64_t block_count(const ModelFamily& family, const ModelNumbers& numbers) {
  int64_t blocks = 0;
  for (const std::string_view name : family.blocks) blocks += numbers.count(name);
  return blocks;
}

std::vector<Rule> model_rules(const ModelConfig& model) {
  if (!model.table) return {};
  const ModelFamily& family = family_of(model);
  const std::vector<std::string> needed = needed_by(family);
  std::vector<Rule> all = {
      {.keys = {"model.name"}, .broken = unknown_model, .example = {"model.name = \"gpt5\""}},
      {.keys = with_name(all_names_of(family)),
       .broken = model_twice,
       .example = {size_line(family), key_of(needed.front()) + " = 2"}},
      {.keys = with_name(needed), .broken = no_model, .example = {"model.name = \"\""}}};
  if (model.table->size() > 1) {
    all.push_back({.keys = {"model.family", "model.name"},
                   .broken = another_family,
                   .example = {size_line(model.table->front()),
                               text("model.family = \"", model.table->back().name, "\"")}});
  }
  add_foreign(*model.table, family, all);
  all.insert(all.end(), family.rules.begin(), family.rules.end());
  std::vector<std::string> keys = with_name({family.blocks.begin(), family.blocks.end()});
  keys.emplace_back("activation_checkpointing.recompute");
  all.push_back({.keys = keys,
                 .broken = absent_block,
                 .example = {"activation_checkpointing.recompute = [0, 12]"}});
  return all;
}

}  // namespace zero
