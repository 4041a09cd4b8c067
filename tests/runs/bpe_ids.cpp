// What tests/runs/bpe.py compares with: bpe_ids FOLDER reads texts from stdin, each behind its
// bytes as u32, and writes their ids, each row behind its count as u32, all little-endian. Ends
// with status 1 if decoding does not give a text back.

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

void write_ids(const std::vector<int32_t>& ids) {
  const auto count = uint32_t(ids.size());
  if (std::fwrite(&count, sizeof count, 1, stdout) != 1 ||
      std::fwrite(ids.data(), sizeof(int32_t), count, stdout) != count)
    refuse(Exit::kIo, "stdout takes no more");
}

void encode_all(const Tokenizer& tokenizer) {
  std::string text;
  while (read_text(text)) {
    const std::vector<int32_t> ids = tokenizer.encode(text);
    if (tokenizer.decode(ids) != text) refuse(Exit::kInternal, "decoded to another text: ", text);
    write_ids(ids);
  }
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: bpe_ids FOLDER\n"), 2;
  try {
    zero::encode_all(*zero::open_tokenizer(argv[1]));
  } catch (const zero::Error& error) {
    std::fprintf(stderr, "bpe_ids: %s\n", error.what());
    return 1;
  }
  return 0;
}
