#include "zero/io/data/token_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "zero/base/crc32.hpp"
#include "zero/base/error.hpp"
#include "zero/base/utf8.hpp"

namespace zero {
namespace {

constexpr int64_t kPassTokens = 1 << 18;  // read at one time by fingerprint()
constexpr int kMaxInterruptions = 16;     // of one read, without progress

uint32_t little_u32(const uint8_t* bytes) {
  return uint32_t(bytes[0]) | uint32_t(bytes[1]) << 8 | uint32_t(bytes[2]) << 16 |
         uint32_t(bytes[3]) << 24;
}

uint64_t little_u64(const uint8_t* bytes) {
  return little_u32(bytes) | uint64_t(little_u32(bytes + 4)) << 32;
}

bool names_tokens(const std::string& path) { return path.ends_with(".bin"); }

std::string how_to_make(const std::string& path) {
  if (names_tokens(path)) {
    const std::string stem = path.substr(0, path.size() - 4);
    return text("make it: python3 tools/data/tokens.py ", stem, ".txt ", path);
  }
  return "write the path of a UTF-8 text; tools/data/web_text.py makes data/web.txt";
}

int open_regular(const std::string& path, int64_t& bytes) {
  // A pipe without a writer would make open() wait for ever.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) refuse(Exit::kInput, path, ": ", strerror(errno), "; ", how_to_make(path));
  struct stat status {};
  const bool known = fstat(file, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    close(file);
    refuse(Exit::kInput, path, ": is no regular file; ", how_to_make(path));
  }
  bytes = int64_t(status.st_size);
  return file;
}

/// Widens raw ids, which end where `out` ends, to 32 bits in place: an id is written at or before
/// the place that the next one is read from.
template <size_t kBytes>
void widen(std::span<int32_t> out) {
  auto* bytes = reinterpret_cast<uint8_t*>(out.data());
  const uint8_t* raw = bytes + out.size() * (4 - kBytes);
  for (size_t i = 0; i < out.size(); ++i) {
    int32_t id = raw[i * kBytes];
    if constexpr (kBytes == 2) id |= int32_t(raw[i * kBytes + 1]) << 8;
    memcpy(bytes + 4 * i, &id, 4);
  }
}

/// Follows UTF-8 over several pieces of a text.
class TextCheck {
 public:
  explicit TextCheck(const std::string& path) : path_(path) {}
  void add(std::span<const uint8_t> bytes) {
    for (const uint8_t byte : bytes) {
      if (!utf8_.accept(byte)) fail("byte " + std::to_string(byte) + " is no UTF-8 text");
      ++offset_;
    }
  }
  void finish() const {
    if (!utf8_.complete()) fail("the last character is cut off");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    refuse(Exit::kInput, path_, ": offset ", offset_, ": ", what,
           "; convert the text, for instance with iconv -t UTF-8");
  }

  const std::string& path_;
  Utf8Checker utf8_;
  int64_t offset_ = 0;
};

}  // namespace

TokenFile::TokenFile(const std::string& path) : path_(path) {
  file_ = open_regular(path, file_bytes_);
  try {
    read_header();
  } catch (...) {
    close(file_);
    throw;
  }
}

TokenFile::~TokenFile() { close(file_); }

void TokenFile::read_header() {
  if (file_bytes_ == 0) refuse(Exit::kInput, path_, ": is empty; ", how_to_make(path_));
  std::array<uint8_t, kTokenHeaderBytes> header{};
  const int64_t have = std::min(file_bytes_, kTokenHeaderBytes);
  read_bytes(0, std::span(header).first(size_t(have)));
  if (!std::equal(kTokenMagic.begin(), kTokenMagic.end(), header.begin())) {
    if (names_tokens(path_)) {
      refuse(Exit::kInput, path_, ": offset 0: is no token file; ", how_to_make(path_));
    }
    tokens_ = file_bytes_;
    return;
  }
  const uint32_t version = little_u32(&header[8]), vocab = little_u32(&header[12]);
  const uint64_t count = little_u64(&header[16]);
  const int64_t held = (file_bytes_ - kTokenHeaderBytes) / 2;
  const bool whole = have == kTokenHeaderBytes && file_bytes_ % 2 == 0;
  if (have == kTokenHeaderBytes && version != 1) {
    refuse(Exit::kInput, path_, ": offset 8: version ", version, ", only 1 is read");
  }
  if (!whole || count != uint64_t(held) || count == 0) {
    refuse(Exit::kInput, path_, ": offset 16: the header says ", count, " tokens, ",
           kTokenHeaderBytes, " + 2 bytes each, but the file has ", file_bytes_, " bytes; ",
           how_to_make(path_));
  }
  if (vocab < 1 || vocab > 65536) {
    refuse(Exit::kInput, path_, ": offset 12: a vocabulary of ", vocab, ", not 1 to 65536");
  }
  tokens_ = held, vocab_size_ = vocab, crc_ = little_u32(&header[24]);
  header_bytes_ = kTokenHeaderBytes, token_bytes_ = 2;
}

void TokenFile::read_bytes(int64_t offset, std::span<uint8_t> out) const {
  size_t done = 0;
  for (int interrupted = 0; done < out.size();) {
    const int64_t at = offset + int64_t(done);
    const ssize_t got = pread(file_, out.data() + done, out.size() - done, off_t(at));
    if (got > 0) {
      done += size_t(got);
      interrupted = 0;
    } else if (got == 0) {
      refuse(Exit::kInput, path_, ": offset ", at, ": the file ends here, but had ", file_bytes_,
             " bytes when it was opened; do not change data during a run");
    } else if (errno != EINTR || ++interrupted > kMaxInterruptions) {
      refuse(Exit::kIo, path_, ": offset ", at, ": ", strerror(errno), " reading ",
             out.size() - done, " bytes");
    }
  }
}

void TokenFile::check_ids(int64_t first, std::span<const int32_t> ids) const {
  if (token_bytes_ == 1) return;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= vocab_size_) {
      refuse(Exit::kInput, path_, ": offset ", offset_of(first + int64_t(i)), ": token ", ids[i],
             " is beyond the vocabulary of ", vocab_size_);
    }
  }
}

void TokenFile::read(int64_t first, std::span<int32_t> out) const {
  ZERO_REQUIRE(first >= 0 && first + int64_t(out.size()) <= tokens_, "tokens ", first, " to ",
               first + int64_t(out.size()), " of ", tokens_, " in ", path_);
  const size_t raw_bytes = out.size() * size_t(token_bytes_);
  auto* bytes = reinterpret_cast<uint8_t*>(out.data());
  read_bytes(offset_of(first), {bytes + out.size_bytes() - raw_bytes, raw_bytes});
  token_bytes_ == 1 ? widen<1>(out) : widen<2>(out);
  check_ids(first, out);
}

uint64_t TokenFile::fingerprint() const {
  std::vector<uint8_t> raw(size_t(kPassTokens * token_bytes_));
  std::vector<int32_t> ids(token_bytes_ == 2 ? size_t(kPassTokens) : 0);
  TextCheck utf8(path_);
  uint32_t crc = 0;
  for (int64_t first = 0; first < tokens_; first += kPassTokens) {
    const size_t count = size_t(std::min(kPassTokens, tokens_ - first));
    const std::span<uint8_t> piece = std::span(raw).first(count * size_t(token_bytes_));
    read_bytes(offset_of(first), piece);
    crc = crc32(piece.data(), piece.size(), crc);
    if (token_bytes_ == 1) {
      utf8.add(piece);
    } else {
      for (size_t i = 0; i < count; ++i) ids[i] = piece[2 * i] | piece[2 * i + 1] << 8;
      check_ids(first, std::span(ids).first(count));
    }
  }
  utf8.finish();
  if (token_bytes_ == 2 && crc != crc_) {
    refuse(Exit::kInput, path_, ": offset 24: the ids have CRC-32 ", crc, ", the header says ",
           crc_, "; the file is damaged: ", how_to_make(path_));
  }
  return uint64_t(file_bytes_) << 32 | crc;
}

}  // namespace zero
