// What tests/runs/text_ids.py compares with: text_ids TOKENIZER reads texts from stdin, each
// behind its bytes as u32. It writes a row of the special ids, and then for each text a row of its
// ids and a row of the bytes that they decode to without special tokens. A row stands behind its
// count as u32; all is little-endian.

#include "tests/support/id_rows.hpp"

namespace zero {
namespace {

using testing_support::read_text;
using testing_support::write_row;

void encode_all(const Tokenizer& tokenizer) {
  const SpecialIds special = tokenizer.special_ids();
  write_row(std::vector<int32_t>{special.pad, special.bos, special.eos, special.unk,
                                 special.first_sentinel, special.sentinels,
                                 int32_t(tokenizer.vocab_size())});
  std::string text;
  while (read_text(text)) {
    const std::vector<int32_t> ids = tokenizer.encode(text);
    write_row(ids);
    write_row(tokenizer.decode(ids, SpecialTokens::kSkipped));
  }
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  return zero::testing_support::run_on_tokenizer(argc, argv, "text_ids", zero::encode_all);
}
