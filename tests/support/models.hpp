#pragma once
/// Configurations with the families of models that the program knows.

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "zero/config/import_deepspeed.hpp"
#include "zero/config/read_config.hpp"
#include "zero/model/family.hpp"
#include "zero/model/recipe.hpp"

namespace zero::testing_support {

inline const model::Catalogue& catalogue() {
  static const model::Catalogue all = model::catalogue();
  return all;
}

/// [model] by numbers, of the first family.
inline ModelConfig model_config(ModelNumbers numbers) {
  return {.table = &catalogue().models, .numbers = std::move(numbers)};
}

/// The defaults.
inline RunConfig unset_config() {
  RunConfig config;
  config.model.table = &catalogue().models;
  return config;
}

/// The parameters of the model of this published size.
inline int64_t parameters(std::string_view name) {
  RunConfig config = unset_config();
  config.model.name = name;
  return model::parameter_count(model::recipe_of(config));
}

}  // namespace zero::testing_support

namespace zero {

inline ConfigInput read_config(std::string_view text, const std::string& file,
                               std::span<const std::string> overrides = {},
                               Writer writer = Writer::user) {
  return read_config(testing_support::catalogue().models, text, file, overrides, writer);
}

inline ConfigInput read_config_file(const std::string& path,
                                    std::span<const std::string> overrides = {}) {
  return read_config_file(testing_support::catalogue().models, path, overrides);
}

inline DeepSpeedImport import_deepspeed(const std::string& path, const ImportOptions& options) {
  return import_deepspeed(testing_support::catalogue().models, path, options);
}

}  // namespace zero

namespace zero::testing_support {

/// One of the names that model.name takes.
inline model::Architecture model_named(const std::string& name) {
  const std::string input = "model.name = \"" + name +
                            "\"\ndata.train = \"t\"\ndata.sequence_length = 64\nrun.steps = 1\n";
  return model::architecture_of(read_config(input, "in.toml").config);
}

}  // namespace zero::testing_support
