#include <algorithm>

#include "io/data/id_file.hpp"

namespace zero {
namespace {

constexpr int64_t kLookedAt = 4096;

/// Ids are soon no UTF-8, or have zero bytes in their upper halves.
bool reads_as_text(const DataFile& file) {
  std::array<uint8_t, kLookedAt> bytes;
  const auto seen = std::span(bytes).first(size_t(std::min(file.bytes(), kLookedAt)));
  file.read(0, seen);
  Utf8Checker utf8;
  return std::all_of(seen.begin(), seen.end(), [&](uint8_t byte) {
    const bool control = byte < ' ' && !(byte >= '\t' && byte <= '\r');
    return !control && utf8.accept(byte);
  });
}

}  // namespace

IdLayout nanogpt_layout(const DataFile& file, int64_t vocab_size) {
  if (reads_as_text(file)) {
    file.damaged(0, "is no token file but reads as a text, which must not be named .bin; ",
                 file.advice());
  }
  if (file.bytes() % kUint16.bytes != 0) {
    file.damaged(file.bytes() - 1, "half an id: a .bin without a header or an index (",
                 index_path(file.path()), ") holds uint16 ids; ", file.advice());
  }
  return {.format = "uint16 ids without a header",
          .type = kUint16,
          .offset = 0,
          .tokens = file.bytes() / kUint16.bytes,
          .vocab_size = vocab_size};
}

}  // namespace zero
