/// An input file and overrides, split at the control character US, end in a configuration that
/// effective_toml() repeats, or in one usage error.

#include "zero/config/read_config.hpp"

#include "zero/base/error.hpp"
#include "zero/config/model_table.hpp"

namespace zero {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t end; (end = text.find('\x1f')) != text.npos; text.remove_prefix(end + 1)) {
    parts.emplace_back(text.substr(0, end));
  }
  parts.emplace_back(text);
  return parts;
}

/// As the program's, with a second family.
const ModelTable& models() {
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

void check(std::string_view bytes) {
  std::vector<std::string> overrides = split(bytes);
  const std::string file = overrides.front();
  overrides.erase(overrides.begin());
  ConfigInput input;
  try {
    input = read_config(models(), file, "fuzz.toml", overrides);
  } catch (const Error& error) {
    ZERO_REQUIRE(error.exit() == Exit::kUsage, error.what());
    return;
  }
  const ConfigInput again = read_config(models(), effective_toml(input), "effective.toml");
  ZERO_REQUIRE(again.config == input.config, "the effective configuration is another");
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zero::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
