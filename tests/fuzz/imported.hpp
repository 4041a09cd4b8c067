#pragma once

#include <ctime>
#include <span>
#include <string>

#include "tests/fuzz/models.hpp"
#include "zero/base/error.hpp"
#include "zero/config/import_deepspeed.hpp"
#include "zero/config/read_config.hpp"

namespace zero {

/// Runs `work`, which may end with one usage error and takes less than a second of the processor.
template <class Work>
void within_a_second(Work work) {
  const std::clock_t before = std::clock();
  try {
    work();
  } catch (const Error& error) {
    ZERO_REQUIRE(error.exit() == Exit::kUsage, error.what());
  }
  ZERO_REQUIRE(std::clock() - before < CLOCKS_PER_SEC, "more than a second");
}

/// Imports the file with the launch line. What comes of it is an input file or lines on what is
/// refused; a run reads the input file, or refuses it by its keys.
inline void check_import(const std::string& path, std::span<const std::string> launch_line,
                         bool refuses) {
  const std::vector<std::string> given = {"model.name=gpt2", "data.train=text.txt"};
  const DeepSpeedImport import =
      import_deepspeed(models(), path,
                       {.overrides = given,
                        .launch_line = launch_line,
                        .hf_defaults = true,
                        .unsupported = refuses ? Unsupported::refuse : Unsupported::leave_out});
  ZERO_REQUIRE(import.toml.empty() != import.refused.empty(), "an input file of a refused one");
  if (!import.needs.empty()) read_config(models(), import.toml, "import.toml");
}

}  // namespace zero
