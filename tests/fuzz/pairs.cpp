/// A file of any bytes, of each format of pairs by the first byte, is pairs that are all read, or
/// one input error that names the file.

#include <array>
#include <cstdint>

#include "io/data/pair_file.hpp"
#include "tests/fuzz/fuzzed_folder.hpp"
#include "tests/fuzz/input_error.hpp"

namespace zero {
namespace {

void read_all(const PairFile& file) {
  for (int64_t pair = 0; pair < file.pairs(); ++pair) file.read(pair);
  ZERO_REQUIRE(file.pairs() > 0 && file.blank_lines() >= 0, "no pairs");
}

void check(FuzzedFolder& folder, std::string_view bytes) {
  static constexpr std::array kNames = {"p.jsonl", "p.csv", "p.tsv", "p.source"};
  const size_t kind = bytes.empty() ? 0 : size_t(uint8_t(bytes[0])) % kNames.size();
  const std::string_view content = bytes.substr(bytes.empty() ? 0 : 1);
  const size_t half = content.size() / 2;
  const bool is_two = kind == 3;
  folder.put(kNames[kind], is_two ? content.substr(0, half) : content);
  if (is_two) folder.put("p.target", content.substr(half));
  expect_input_error_at_most(
      [&] {
        read_all(*open_pair_file(folder.file(kNames[kind]), {.source = "a", .target = "t.b"}));
      },
      [&](const Error& error) {
        return std::string_view(error.what()).starts_with(folder.path());
      });
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return zero::check_in_folder(zero::check, data, size);
}
