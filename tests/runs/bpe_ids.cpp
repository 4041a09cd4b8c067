// What tests/runs/bpe.py compares with: bpe_ids FOLDER reads texts from stdin, each behind its
// bytes as u32, and writes their ids, each row behind its count as u32, all little-endian. Ends
// with status 1 if decoding does not give a text back.

#include "tests/support/id_rows.hpp"

namespace zero {
namespace {

using testing_support::read_text;
using testing_support::write_row;

void encode_all(const Tokenizer& tokenizer) {
  std::string text;
  while (read_text(text)) {
    const std::vector<int32_t> ids = tokenizer.encode(text);
    if (tokenizer.decode(ids) != text) refuse(Exit::kInternal, "decoded to another text: ", text);
    write_row(ids);
  }
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  return zero::testing_support::run_on_tokenizer(argc, argv, "bpe_ids", zero::encode_all);
}
