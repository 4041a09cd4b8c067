#pragma once
/// A file of tokens, read by pread and never mapped, so that a file that shrinks is an error and
/// not a signal. Two kinds, told apart by their first bytes:
///   UTF-8 text       a token is a byte, the vocabulary is 256
///   token file       32 bytes of header, then 16-bit little-endian ids up to the end of the file
/// Header, little-endian: 8 bytes kTokenMagic, u32 version = 1, u32 vocab_size (1 to 65536),
/// u64 tokens, u32 CRC-32 of the ids, u32 zero. Made by tools/data/tokens.py.

#include <array>
#include <cstdint>
#include <string>

#include "zero/io/data/token_source.hpp"

namespace zero {

inline constexpr std::array<uint8_t, 8> kTokenMagic = {0x93, 'Z', 'T', 'O', 'K', '\r', '\n', 0x1A};
inline constexpr int64_t kTokenHeaderBytes = 32;

class TokenFile : public TokenSource {
 public:
  /// Opens the file and checks its size and header, not its content. Throws Error(kInput) naming
  /// the file, the offset, what stands there, and how such a file is made.
  explicit TokenFile(const std::string& path);
  ~TokenFile() override;
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  int64_t tokens() const override { return tokens_; }
  int64_t vocab_size() const override { return vocab_size_; }
  /// Also throws if the file has become shorter (kInput) or cannot be read (kIo).
  void read(int64_t first, std::span<int32_t> out) const override;
  /// The CRC-32 of the content in the low half, the low bits of its length in the high half. Text
  /// must be UTF-8; ids must be below the vocabulary and match the header's CRC-32.
  uint64_t fingerprint() const override;

  const std::string& path() const { return path_; }

 private:
  void read_header();
  void read_bytes(int64_t offset, std::span<uint8_t> out) const;
  int64_t offset_of(int64_t token) const { return header_bytes_ + token * token_bytes_; }
  void check_ids(int64_t first, std::span<const int32_t> ids) const;

  std::string path_;
  int file_ = -1;
  int64_t file_bytes_ = 0;
  int64_t header_bytes_ = 0;
  int64_t token_bytes_ = 1;
  int64_t tokens_ = 0;
  int64_t vocab_size_ = 256;
  uint32_t crc_ = 0;  // of the header
};

}  // namespace zero
