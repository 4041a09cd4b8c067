/// Any bytes as DeepSpeed's JSON or Accelerate's YAML or JSON, with what is unsupported refused or
/// left out by their number.

#include <unistd.h>

#include "src/config/import/nested_file.hpp"
#include "tests/fuzz/imported.hpp"
#include "tests/support/temp_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const zero::testing_support::TempFile json("fuzz.json", ""), yaml("fuzz.yaml", "");
  const bool braces = bytes.starts_with('{');
  const auto& file = braces ? json : yaml;
  zero::within_a_second([&] {
    braces ? zero::read_json(bytes, "fuzz") : zero::read_yaml(bytes, "fuzz");
    file.write(bytes);
    zero::check_import(file.path(), {}, size % 2);
  });
  return 0;
}
