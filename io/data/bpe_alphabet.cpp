#include "io/data/bpe_alphabet.hpp"

#include <array>

namespace zero {
namespace {

constexpr int kFirstFree = 0x100, kReplaced = 68;  // so many bytes are not printed as themselves

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<int, 256> code_points{};
  std::array<int, kFirstFree + kReplaced> bytes{};  // -1: no symbol
};

constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  alphabet.bytes.fill(-1);
  int free = kFirstFree;
  for (int byte = 0; byte < 256; ++byte) {
    const int code_point = stands_for_itself(byte) ? byte : free++;
    alphabet.code_points[size_t(byte)] = code_point;
    alphabet.bytes[size_t(code_point)] = byte;
  }
  return alphabet;
}();

/// The byte of the symbol at `at`, which moves behind it; -1 if it is none.
int read_symbol(const std::string& entry, size_t& at) {
  size_t code_point = uint8_t(entry[at++]);
  if (code_point >= 0xC0 && code_point < 0xE0 && at < entry.size())
    code_point = (code_point & 0x1F) << 6 | (uint8_t(entry[at++]) & 0x3F);
  return code_point < kAlphabet.bytes.size() ? kAlphabet.bytes[code_point] : -1;
}

}  // namespace

std::string bpe_symbol(uint8_t byte) {
  const int code_point = kAlphabet.code_points[byte];
  if (code_point < 0x80) return {char(code_point)};
  return {char(0xC0 | code_point >> 6), char(0x80 | (code_point & 0x3F))};
}

std::string bpe_bytes(const std::string& entry) {
  std::string bytes;
  for (size_t at = 0; at < entry.size();) {
    const int byte = read_symbol(entry, at);
    if (byte < 0) return entry;
    bytes += char(byte);
  }
  return bytes;
}

}  // namespace zero
