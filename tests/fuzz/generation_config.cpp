/// Any bytes as a generation_config.json are settings that search a text, or one input error, or
/// settings that a model cannot follow.

#include <cstdint>

#include "tests/fuzz/input_error.hpp"
#include "tests/support/models.hpp"
#include "zero/config/generation_keys.hpp"
#include "zero/stored/stored_model.hpp"
#include "zero/text/search_rules.hpp"

namespace zero {
namespace {

void check(std::string_view bytes) {
  static const model::Architecture kModel = testing_support::model_named("t5-small");
  expect_input_error_at_most([&] {
    try {
      const GenerationConfig settings =
          stored::parse_generation(kModel, bytes, "generation_config.json");
      require_generation(settings, {});
      writing::search_rules(settings, kModel, 64, 1);
    } catch (const SettingsError&) {
    }
  });
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zero::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
