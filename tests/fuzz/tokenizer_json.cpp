/// Any bytes as a tokenizer.json are a tokenizer whose ids are below its size and decode, or one
/// input error.

#include <cstdint>

#include "tests/fuzz/fuzzed_folder.hpp"
#include "tests/fuzz/input_error.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {
namespace {

constexpr std::string_view kText =
    "A text, don't 123\n\n \xE2\x96\x81 <s>\xC3\xA9\xFF e\xCC\x81 <x> ";

void try_out(const Tokenizer& tokenizer) {
  for (const auto names : {SpecialNames::kTokens, SpecialNames::kText}) {
    const std::vector<int32_t> ids = tokenizer.encode(kText, names);
    for (const int32_t id : ids)
      ZERO_REQUIRE(id >= 0 && id < tokenizer.vocab_size(), "id ", id, " of ",
                   tokenizer.vocab_size());
    tokenizer.decode(ids);
    tokenizer.decode(ids, SpecialTokens::kSkipped);
  }
  for (const int32_t id : tokenizer.text_frame().before)
    ZERO_REQUIRE(id >= 0 && id < tokenizer.vocab_size(), "id ", id, " before a text");
}

void check(FuzzedFolder& folder, std::string_view bytes) {
  folder.put("tokenizer.json", bytes);
  expect_input_error_at_most([&] { try_out(*open_tokenizer(folder.path())); });
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return zero::check_in_folder(zero::check, data, size);
}
