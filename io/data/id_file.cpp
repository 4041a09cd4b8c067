#include "io/data/id_file.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "zero/base/digests.hpp"

namespace zero {
namespace {

constexpr int64_t kPassTokens = 1 << 18;  // read at one time by fingerprint()
constexpr int64_t kPieceBytes = 1 << 14;  // read at one time by read(), on the stack

}  // namespace

IdFile::IdFile(std::unique_ptr<DataFile> file, const IdLayout& layout)
    : file_(std::move(file)), layout_(layout) {
  const int64_t held = (file_->bytes() - layout.offset) / layout.type.bytes;
  ZERO_REQUIRE(layout.offset >= 0 && layout.tokens >= 1 && layout.tokens <= held, layout.tokens,
               " tokens from byte ", layout.offset, " of ", file_->path());
}

void IdFile::widen(int64_t first, const uint8_t* raw, std::span<int32_t> out) const {
  const size_t good = layout_.type.widen(raw, out, layout_.vocab_size);
  if (good == out.size()) return;
  const int64_t id = layout_.type.value(raw + good * size_t(layout_.type.bytes));
  file_->damaged(offset_of(first + int64_t(good)), "token ", id, " is ",
                 id < 0 ? "below 0" : "beyond the vocabulary", ", which is of ",
                 layout_.vocab_size);
}

void IdFile::read(int64_t first, std::span<int32_t> out) const {
  const int64_t count = int64_t(out.size());
  ZERO_REQUIRE(first >= 0 && count <= tokens() && first <= tokens() - count, "tokens ", first,
               " to ", first + count, " of ", tokens(), " in ", file_->path());
  std::array<uint8_t, kPieceBytes> raw;
  const int64_t piece = kPieceBytes / layout_.type.bytes;
  for (int64_t done = 0; done < count; done += piece) {
    const int64_t now = std::min(piece, count - done);
    file_->read(offset_of(first + done), std::span(raw).first(size_t(now * layout_.type.bytes)));
    widen(first + done, raw.data(), out.subspan(size_t(done), size_t(now)));
  }
}

uint64_t IdFile::fingerprint() const {
  std::vector<uint8_t> raw(size_t(kPassTokens * layout_.type.bytes));
  std::vector<int32_t> ids(static_cast<size_t>(kPassTokens));
  TextCheck text(*file_);
  uint32_t crc = 0;
  for (int64_t first = 0; first < tokens(); first += kPassTokens) {
    const int64_t count = std::min(kPassTokens, tokens() - first);
    const std::span<uint8_t> piece = std::span(raw).first(size_t(count * layout_.type.bytes));
    file_->read(offset_of(first), piece);
    crc = crc32(piece.data(), piece.size(), crc);
    if (layout_.utf8) text.add(piece);
    widen(first, piece.data(), std::span(ids).first(size_t(count)));
  }
  text.finish();
  if (layout_.crc && crc != *layout_.crc) {
    refuse(Exit::kInput, file_->path(), ": the ids have CRC-32 ", crc, ", the header says ",
           *layout_.crc, "; the file is damaged: ", file_->advice());
  }
  return uint64_t(file_->bytes()) << 32 | crc;
}

}  // namespace zero
