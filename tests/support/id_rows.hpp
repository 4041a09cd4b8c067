#pragma once
/// Texts of stdin and rows for stdout, each behind its count as u32, all little-endian, for
/// programs that scripts compare with.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero::testing_support {

inline bool read_text(std::string& text) {
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

/// Returns the status of a program `name TOKENIZER`, which calls encode_all() with the tokenizer.
inline int run_on_tokenizer(int argc, char** argv, const char* name,
                            void (*encode_all)(const Tokenizer&)) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s TOKENIZER\n", name), 2;
  try {
    encode_all(*open_tokenizer(argv[1]));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
  return 0;
}

}  // namespace zero::testing_support
