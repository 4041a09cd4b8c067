#pragma once

#include <span>
#include <string>

#include "tests/fuzz/models.hpp"
#include "zero/base/error.hpp"
#include "zero/config/import_deepspeed.hpp"
#include "zero/config/read_config.hpp"

namespace zero {

/// An import ends in an input file that a run reads or refuses by its keys, in lines on what is
/// refused, or in one usage error.
inline void check_import(const std::string& path, std::span<const std::string> launch_line,
                         Unsupported unsupported) {
  const std::vector<std::string> given = {"model.name=gpt2", "data.train=text.txt"};
  try {
    const DeepSpeedImport import = import_deepspeed(models(), path,
                                                    {.overrides = given,
                                                     .launch_line = launch_line,
                                                     .hf_defaults = true,
                                                     .unsupported = unsupported});
    ZERO_REQUIRE(import.toml.empty() != import.refused.empty(), "an input file of a refused one");
    if (!import.needs.empty()) read_config(models(), import.toml, "import.toml");
  } catch (const Error& error) {
    ZERO_REQUIRE(error.exit() == Exit::kUsage, error.what());
  }
}

}  // namespace zero
