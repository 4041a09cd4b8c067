/// Any bytes as DeepSpeed's JSON or Accelerate's YAML or JSON, with what is unsupported refused or
/// left out by their number.

#include <unistd.h>

#include "tests/fuzz/imported.hpp"
#include "tests/support/temp_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const zero::testing_support::TempFile json("fuzz.json", ""), yaml("fuzz.yaml", "");
  const auto& file = bytes.starts_with('{') ? json : yaml;
  file.write(bytes);
  const auto unsupported = size % 2 ? zero::Unsupported::refuse : zero::Unsupported::leave_out;
  zero::check_import(file.path(), {}, unsupported);
  return 0;
}
