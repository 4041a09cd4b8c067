#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace zero {

/// Returns tables[k][b], the CRC remainder of byte b followed by k zero bytes. The lowest bit of
/// `polynomial` is its highest power.
constexpr std::array<std::array<uint32_t, 256>, 8> crc_tables(uint32_t polynomial) {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder >> 1) ^ (remainder & 1 ? polynomial : 0u);
    tables[0][byte] = remainder;
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (size_t k = 1; k < 8; ++k) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

/// Returns the CRC of `bytes` by kPolynomial, in the form that crc_tables() takes. Continues from
/// `crc`, the CRC of the bytes before them; 0 if there are none. Tables give about 1.7 GB/s.
template <uint32_t kPolynomial>
uint32_t crc_of(std::span<const std::byte> bytes, uint32_t crc) {
  static constexpr auto kTables = crc_tables(kPolynomial);
  uint32_t remainder = ~crc;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint32_t next = 0;
    for (size_t k = 0; k < 8; ++k) {
      const uint32_t mixed = uint32_t(bytes[i + k]) ^ (k < 4 ? (remainder >> (8 * k)) & 0xFF : 0);
      next ^= kTables[7 - k][mixed];
    }
    remainder = next;
  }
  for (; i < bytes.size(); ++i)
    remainder = (remainder >> 8) ^ kTables[0][(remainder ^ uint32_t(bytes[i])) & 0xFF];
  return ~remainder;
}

/// Returns the CRC-32 (of zip and zlib) of `count` bytes. Continues from `crc` as crc_of(). Token
/// files and fingerprints have it, because scripts can compute it too.
inline uint32_t crc32(const uint8_t* bytes, size_t count, uint32_t crc = 0) {
  return crc_of<0xEDB88320u>(std::as_bytes(std::span(bytes, count)), crc);
}

/// Returns the CRC-32C (of iSCSI, Castagnoli's polynomial) of `bytes`. Continues from `crc` as
/// crc_of(). It protects the blocks of checkpoints up to format 3. Source: RFC 3720, B.4.
inline uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0) {
  return crc_of<0x82F63B78u>(bytes, crc);
}

/// A SHA-256 of bytes that come in pieces of any length. OpenSSL computes it. Source: FIPS 180-4.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  /// Appends bytes to those of the digest.
  void add(std::span<const std::byte> bytes);
  /// Returns the SHA-256 of all bytes added, as 64 hexadecimal digits. Nothing can be added
  /// afterwards.
  std::string digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A digest of 128 bits: XXH3 with the seed 0, most significant byte first (canonical order). It
/// detects accidental changes, at about 20 GB/s a thread, but no forgeries. Source: xxHash's
/// specification, XXH128.
using Xxh3Digest = std::array<uint8_t, 16>;

/// Returns the XXH3 digest of bytes that are all in memory.
Xxh3Digest xxh3_of(std::span<const std::byte> bytes);

/// A computation of an Xxh3Digest from bytes that come in pieces of any length.
class Xxh3 {
 public:
  Xxh3();
  ~Xxh3();
  Xxh3(const Xxh3&) = delete;
  Xxh3& operator=(const Xxh3&) = delete;

  void add(std::span<const std::byte> bytes);
  /// Returns the digest of all bytes added until now.
  Xxh3Digest digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zero
