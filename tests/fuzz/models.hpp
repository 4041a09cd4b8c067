#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zero/config/model_keys.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

/// The parts of a text between its control characters US.
inline std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t end; (end = text.find('\x1f')) != text.npos; text.remove_prefix(end + 1)) {
    parts.emplace_back(text.substr(0, end));
  }
  parts.emplace_back(text);
  return parts;
}

/// As the program's, with a second family.
inline const ModelTable& models() {
  const Range any{.low = 1, .high = 1 << 24, .automatic = true};
  const auto bytes = [](const RunConfig&) -> int64_t { return 256; };
  const auto length = [](const RunConfig& config) { return config.data.sequence_length; };
  const std::vector<ModelCount> counts = {{"layers", any},
                                          {"width", any},
                                          {"heads", any},
                                          {"vocab_size", any, bytes},
                                          {"max_positions", any, length, "data.sequence_length"}};
  static const ModelTable table = {{.name = "gpt2",
                                    .example_input = "inputs/gpt2_nano.toml",
                                    .counts = counts,
                                    .rates = {{"dropout", {.high = 1, .below_high = true}, 0.1}},
                                    .sizes = {{"gpt2", {12, 768, 12, 50257, 1024}},
                                              {"gpt2_1.5b", {48, 1600, 16, 50304, 1024}},
                                              {"gpt2_10b", {50, 4096, 32, 50304, 1024}}},
                                    .rules = {},
                                    .blocks = {"layers"}},
                                   {.name = "other",
                                    .example_input = "",
                                    .counts = {{"layers", any}, {"arches", any}},
                                    .rates = {},
                                    .sizes = {{"long", {2, 3}}},
                                    .rules = {},
                                    .blocks = {"layers"}}};
  return table;
}

}  // namespace zero
