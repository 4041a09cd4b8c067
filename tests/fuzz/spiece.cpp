/// Any bytes are a SentencePiece model that a text can be followed through, or one input error:
/// what the library itself is given is what passes here.

#include <cstdint>

#include "io/text/piece_path.hpp"
#include "tests/fuzz/input_error.hpp"

namespace zero {
namespace {

void follow(const SentencePieceFile& file) {
  if (file.pieces.empty()) return;
  const PieceTable table(file);
  const PieceCuts cuts(file);
  PiecePath path(table);
  std::vector<int32_t> ids;
  std::string_view text = "In the beginning \u00e9\u2581 <s>\xFF was\nthe word  ";
  while (!text.empty()) {
    const PieceCuts::Cut cut = cuts.find(text, 8, 64);
    ZERO_REQUIRE(cut.end > 0 && cut.next >= cut.end, "an empty part");
    path.add(text.substr(0, cut.end), ids);
    text.remove_prefix(cut.next);
  }
  for (const int32_t id : ids)
    ZERO_REQUIRE(id >= 0 && size_t(id) < file.pieces.size(), "id ", id, " of no piece");
}

void check(std::string_view bytes) {
  expect_input_error_at_most([&] { follow(check_sentencepiece(bytes, "spiece.model")); });
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zero::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
