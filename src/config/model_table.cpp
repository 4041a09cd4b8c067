#include "zero/config/model_table.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

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

}  // namespace

std::string written_as(const ModelCount& count, int64_t number) {
  if (count.words.empty() || number == 0) return text(number);
  return text('"', count.words.at(size_t(number) - 1), '"');
}

int64_t ModelNumbers::count(std::string_view name) const { return number(counts, name); }

double ModelNumbers::rate(std::string_view name) const { return number(rates, name); }

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
    number = size ? size->counts[i] : written<int64_t>(config.model.numbers.counts, count.name, 0);
    if (number == 0 && count.otherwise) number = count.otherwise(config);
  }
  for (const ModelRate& rate : family.rates) {
    numbers.rates[std::string(rate.name)] =
        written(config.model.numbers.rates, rate.name, rate.initial);
  }
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

}  // namespace zero
