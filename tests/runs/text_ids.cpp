// What tests/runs/text_ids.py compares with: text_ids TOKENIZER reads texts from stdin, each
// behind its bytes as u32. It writes a row of the special ids, and then for each text a row of its
// ids and a row of the bytes that they decode to without special tokens. A row stands behind its
// count as u32; all is little-endian.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {
namespace {

bool read_text(std::string& text) {
  uint32_t bytes = 0;
  if (std::fread(&bytes, sizeof bytes, 1, stdin) != 1) return false;
  text.resize(bytes);
  if (std::fread(text.data(), 1, bytes, stdin) != bytes)
    refuse(Exit::kInput, "stdin ends inside a text");
  return true;
}

template <class Row>
void write_row(const Row& row) {
  const auto count = uint32_t(row.size());
  if (std::fwrite(&count, sizeof count, 1, stdout) != 1 ||
      std::fwrite(row.data(), sizeof row[0], count, stdout) != count)
    refuse(Exit::kIo, "stdout takes no more");
}

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
  if (argc != 2) return std::fprintf(stderr, "usage: text_ids TOKENIZER\n"), 2;
  try {
    zero::encode_all(*zero::open_tokenizer(argv[1]));
  } catch (const zero::Error& error) {
    std::fprintf(stderr, "text_ids: %s\n", error.what());
    return 1;
  }
  return 0;
}
