/// An input file and overrides, split at the control character US, end in a configuration that
/// effective_toml() repeats, or in one usage error.

#include "zero/config/read_config.hpp"

#include "tests/fuzz/models.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

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
