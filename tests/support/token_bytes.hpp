#pragma once
/// The bytes of token files, written here so that what reads them is held against the formats.

#include <cstdint>
#include <string>
#include <vector>

#include "zero/base/digests.hpp"

namespace zero::testing_support {

inline std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += char(value >> (8 * i));
  return out;
}

inline std::string id_bytes(const std::vector<int64_t>& ids, int bytes) {
  std::string out;
  for (const int64_t id : ids) out += little(uint64_t(id), bytes);
  return out;
}

struct TokenHeader {
  uint32_t version = 1, vocab = 1000;
  uint64_t tokens = 0;  ///< 0: as many as there are
};

inline std::string token_file(const std::vector<int64_t>& ids, TokenHeader header = {}) {
  const std::string body = id_bytes(ids, header.vocab > 65536 ? 4 : 2);
  const uint32_t crc = crc32(reinterpret_cast<const uint8_t*>(body.data()), body.size());
  return "\x93ZTOK\r\n\x1a" + little(header.version, 4) + little(header.vocab, 4) +
         little(header.tokens ? header.tokens : ids.size(), 8) + little(crc, 4) + little(0, 4) +
         body;
}

inline std::string llmc_file(const std::vector<int64_t>& ids, bool wide) {
  std::string header =
      little(wide ? 20240801 : 20240520, 4) + little(wide ? 7 : 1, 4) + little(ids.size(), 4);
  header.resize(1024, '\0');
  return header + id_bytes(ids, wide ? 4 : 2);
}

/// Megatron-LM's mapped index of sequences of these sizes, each a document, or of these
/// borders of documents.
inline std::string mapped_index(const std::vector<int64_t>& sizes, int code, int bytes,
                                const std::vector<int64_t>& joined = {}) {
  std::vector<int64_t> places, borders = {0};
  int64_t at = 0;
  for (const int64_t size : sizes) {
    places.push_back(at);
    at += size * bytes;
    borders.push_back(int64_t(places.size()));
  }
  if (!joined.empty()) borders = joined;
  return std::string("MMIDIDX\0\0", 9) + little(1, 8) + little(uint64_t(code), 1) +
         little(sizes.size(), 8) + little(borders.size(), 8) + id_bytes(sizes, 4) +
         id_bytes(places, 8) + id_bytes(borders, 8);
}

/// The same of the older index.
inline std::string legacy_index(const std::vector<int64_t>& sizes, int code, int bytes) {
  std::vector<int64_t> dimensions = {0}, places = {0}, borders = {0};
  for (const int64_t size : sizes) {
    places.push_back(places.back() + size);
    dimensions.push_back(int64_t(dimensions.size()));
    borders.push_back(int64_t(borders.size()));
  }
  return std::string("TNTIDX\0\0", 8) + little(1, 8) + little(uint64_t(code), 8) +
         little(uint64_t(bytes), 8) + little(sizes.size(), 8) + little(sizes.size(), 8) +
         little(borders.size(), 8) + id_bytes(dimensions, 8) + id_bytes(places, 8) +
         id_bytes(sizes, 8) + id_bytes(borders, 8);
}

}  // namespace zero::testing_support
