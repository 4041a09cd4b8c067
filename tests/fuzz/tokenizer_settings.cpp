/// Any bytes as the three JSON files beside a vocabulary, parted by zero bytes, are settings whose
/// tokens part a text without loss, or one input error.

#include <cstdint>

#include "io/text/tokenizers.hpp"
#include "tests/fuzz/fuzzed_folder.hpp"
#include "tests/fuzz/input_error.hpp"

namespace zero {
namespace {

/// Added tokens take blanks alone away.
void part_text(const TokenizerSettings& settings) {
  const auto find = [](const std::string& name) { return std::optional(int32_t(name.size())); };
  const AddedTokens tokens(tokens_with_ids(settings, find));
  std::string text = "a text <x> of";
  for (const AddedToken& token : tokens.tokens()) {
    if (text.size() < 1000) text += " " + token.text + token.text;
  }
  size_t bytes = 0;
  for (const AddedTokens::Part& part : tokens.split(text)) {
    ZERO_REQUIRE(!part.text.empty(), "an empty part");
    bytes += part.text.size();
  }
  ZERO_REQUIRE(bytes <= text.size(), "more text than there is");
}

void check(FuzzedFolder& folder, std::string_view bytes) {
  for (const char* name :
       {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
    const size_t end = std::min(bytes.find('\0'), bytes.size());
    folder.put(name, bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  expect_input_error_at_most([&] { part_text(read_tokenizer_settings(folder.path())); });
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return zero::check_in_folder(zero::check, data, size);
}
