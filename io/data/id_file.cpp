#include "io/data/id_file.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "zero/base/digests.hpp"

namespace zero {
namespace {

constexpr int64_t kPassTokens = 1 << 18;  // read at a time by fingerprint()
constexpr int64_t kPieceBytes = 1 << 14;  // read at a time by read(), on the stack

constexpr int64_t kMostOf16Bits = 65536;
constexpr int64_t kMostIds = int64_t(1) << 31;

void check_length(const DataFile& file, uint64_t tokens, int64_t id_bytes) {
  const int64_t body = file.bytes() - kTokenHeaderBytes;
  if (tokens >= 1 && tokens == uint64_t(body / id_bytes) && body % id_bytes == 0) return;
  file.damaged(16, "the header says ", tokens, " tokens, ", kTokenHeaderBytes, " + ", id_bytes,
               " bytes each, but the file has ", file.bytes(), " bytes; ", file.advice());
}

struct Kind {
  uint32_t magic;
  int32_t version;
  IdType type;
};

constexpr Kind kKinds[] = {{kLlmcMagic16, 1, kUint16}, {kLlmcMagic32, 7, kUint32}};

/// Returns null if the file is of neither kind.
const Kind* kind_of(const DataFile& file) {
  if (file.bytes() < int64_t(sizeof(uint32_t))) return nullptr;
  const auto magic = file.number<uint32_t>(0);
  for (const Kind& kind : kKinds) {
    if (magic == __builtin_bswap32(kind.magic)) {
      file.damaged(0, "llm.c's magic ", kind.magic,
                   " in big-endian order; write the file on a little-endian machine");
    }
    if (magic == kind.magic) return &kind;
  }
  return nullptr;
}

constexpr int64_t kLookedAt = 4096;

/// True if the first bytes read as a text. Ids soon break UTF-8, or have zero bytes in their upper
/// halves.
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
                 id < 0 ? "below 0" : "beyond the vocabulary", ", which is of ", layout_.vocab_size,
                 "; write the model.vocab_size of the tokenizer that made these ids");
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

bool is_llmc_file(const DataFile& file) { return kind_of(file) != nullptr; }

IdLayout llmc_layout(const DataFile& file, int64_t vocab_size) {
  const Kind& kind = *kind_of(file);
  if (file.bytes() < kLlmcHeaderBytes) {
    file.damaged(file.bytes(), "llm.c's header of ", kLlmcHeaderBytes, " bytes is cut off");
  }
  const auto version = file.number<int32_t>(4), tokens = file.number<int32_t>(8);
  if (version != kind.version) {
    file.damaged(4, "version ", version, " of llm.c's magic ", kind.magic, ", only ", kind.version,
                 " is read");
  }
  const int64_t body = file.bytes() - kLlmcHeaderBytes;
  if (tokens < 1 || body != tokens * kind.type.bytes) {
    file.damaged(8, "the header says ", tokens, " tokens, ", kLlmcHeaderBytes, " + ",
                 kind.type.bytes, " bytes each, but the file has ", file.bytes(), " bytes");
  }
  return {.format = text("llm.c file of ", kind.type.name, " ids"),
          .type = kind.type,
          .offset = kLlmcHeaderBytes,
          .tokens = tokens,
          .vocab_size = vocab_size};
}

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

IdLayout text_layout(const DataFile& file) {
  return {.format = "UTF-8 text, a token a byte",
          .type = kUint8,
          .offset = 0,
          .tokens = file.bytes(),
          .vocab_size = 256,
          .utf8 = true};
}

}  // namespace zero
