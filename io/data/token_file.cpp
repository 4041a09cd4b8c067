#include <algorithm>

#include "io/data/id_file.hpp"

namespace zero {
namespace {

constexpr int64_t kMostOf16Bits = 65536;
constexpr int64_t kMostIds = int64_t(1) << 31;

void check_length(const DataFile& file, uint64_t tokens, int64_t id_bytes) {
  const int64_t body = file.bytes() - kTokenHeaderBytes;
  if (tokens >= 1 && tokens == uint64_t(body / id_bytes) && body % id_bytes == 0) return;
  file.damaged(16, "the header says ", tokens, " tokens, ", kTokenHeaderBytes, " + ", id_bytes,
               " bytes each, but the file has ", file.bytes(), " bytes; ", file.advice());
}

}  // namespace

bool is_token_file(const DataFile& file) {
  std::array<uint8_t, kTokenMagic.size()> first{};
  const auto seen = std::span(first).first(size_t(std::min<int64_t>(file.bytes(), 8)));
  file.read(0, seen);
  return std::equal(seen.begin(), seen.end(), kTokenMagic.begin());
}

IdLayout token_file_layout(const DataFile& file) {
  if (file.bytes() < kTokenHeaderBytes) {
    file.damaged(file.bytes(), "the header of ", kTokenHeaderBytes, " bytes is cut off; ",
                 file.advice());
  }
  const auto version = file.number<uint32_t>(8), vocabulary = file.number<uint32_t>(12);
  if (version != 1) file.damaged(8, "version ", version, ", only 1 is read; ", file.advice());
  if (vocabulary < 1 || vocabulary > kMostIds) {
    file.damaged(12, "a vocabulary of ", vocabulary, ", not 1 to ", kMostIds);
  }
  const IdType type = vocabulary > kMostOf16Bits ? kUint32 : kUint16;
  const auto tokens = file.number<uint64_t>(16);
  check_length(file, tokens, type.bytes);
  return {.format = text("token file of ", type.name, " ids"),
          .type = type,
          .offset = kTokenHeaderBytes,
          .tokens = int64_t(tokens),
          .vocab_size = vocabulary,
          .crc = file.number<uint32_t>(24)};
}

}  // namespace zero
