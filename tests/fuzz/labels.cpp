/// A file of any bytes, of each format by the first byte, is texts with labels that are all read,
/// as classes and as numbers, or one input error that names the file.

#include <array>
#include <cstdint>

#include "io/data/label_reader.hpp"
#include "tests/fuzz/fuzzed_folder.hpp"
#include "tests/fuzz/input_error.hpp"

namespace zero {
namespace {

void read_all(const LabelFile& file, const LabelReader& reader) {
  for (int64_t i = 0; i < file.records(); ++i) {
    const LabelledTexts record = file.read(i);
    const double label = reader.read(record.label, file.place(i));
    ZERO_REQUIRE(record.texts.size() == file.fields().texts.size() && label == label, "no sample");
    if (!reader.is_real())
      ZERO_REQUIRE(label >= 0 && label < double(reader.classes().size()), "no class");
  }
}

void check(FuzzedFolder& folder, std::string_view bytes) {
  static constexpr std::array kNames = {"l.jsonl", "l.csv", "l.tsv"};
  const size_t kind = bytes.empty() ? 0 : size_t(uint8_t(bytes[0])) % kNames.size();
  folder.put(kNames[kind], bytes.substr(bytes.empty() ? 0 : 1));
  for (const bool is_real : {false, true}) {
    expect_input_error_at_most(
        [&] {
          const LabelFile file(folder.file(kNames[kind]), {});
          read_all(file,
                   is_real ? LabelReader() : LabelReader(classes_in(file), ClassNames::of_train));
        },
        [&](const Error& error) {
          return std::string_view(error.what()).starts_with(folder.path());
        });
  }
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return zero::check_in_folder(zero::check, data, size);
}
