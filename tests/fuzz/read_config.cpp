/// An input file and overrides, split at the control character US, end in a configuration that
/// effective_toml() repeats, or in one usage error.

#include "zero/config/read_config.hpp"

#include "zero/base/error.hpp"
#include "zero/config/effective.hpp"

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

void check(std::string_view bytes) {
  std::vector<std::string> overrides = split(bytes);
  const std::string file = overrides.front();
  overrides.erase(overrides.begin());
  ConfigInput input;
  try {
    input = read_config(file, "fuzz.toml", overrides);
  } catch (const Error& error) {
    ZERO_REQUIRE(error.exit() == Exit::kUsage, error.what());
    return;
  }
  const ConfigInput again = read_config(effective_toml(input), "effective.toml");
  ZERO_REQUIRE(again.config == input.config, "the effective configuration is another");
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zero::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
