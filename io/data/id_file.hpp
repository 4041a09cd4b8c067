#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/data/data_file.hpp"
#include "io/data/token_source.hpp"

namespace zero {

/// A number format of ids in a file.
struct IdType {
  const char* name;  ///< "uint16"
  int64_t bytes;

  /// Widens ids up to the first that is not in [0, below), and returns how many it widened.
  size_t (*widen)(const uint8_t* raw, std::span<int32_t> ids, int64_t below);

  /// Returns the id at `raw`, whatever its value, of at most 63 bits.
  int64_t (*value)(const uint8_t* raw);
};

template <class T>
int64_t id_value(const uint8_t* raw) {
  T id;
  memcpy(&id, raw, sizeof(T));
  return int64_t(id);
}

template <class T>
size_t widen_ids(const uint8_t* raw, std::span<int32_t> ids, int64_t below) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = id_value<T>(raw + i * sizeof(T));
    if (id < 0 || id >= below) return i;
    ids[i] = int32_t(id);
  }
  return ids.size();
}

template <class T>
constexpr IdType id_type(const char* name) {
  return {name, sizeof(T), widen_ids<T>, id_value<T>};
}

inline constexpr IdType kUint8 = id_type<uint8_t>("uint8");
inline constexpr IdType kInt8 = id_type<int8_t>("int8");
inline constexpr IdType kInt16 = id_type<int16_t>("int16");
inline constexpr IdType kUint16 = id_type<uint16_t>("uint16");
inline constexpr IdType kInt32 = id_type<int32_t>("int32");
inline constexpr IdType kUint32 = id_type<uint32_t>("uint32");
inline constexpr IdType kInt64 = id_type<int64_t>("int64");

/// The place of the ids in a file: `tokens` of them, in a row from `offset` on.
struct IdLayout {
  std::string format = {};
  IdType type = kUint8;
  int64_t offset = 0;
  int64_t tokens = 0;
  int64_t vocab_size = 0;            ///< above every id
  std::optional<uint32_t> crc = {};  ///< CRC-32 of the ids, if the format has one
  bool utf8 = false;                 ///< true if the ids are the bytes of a text
};

/// The ids of a file in any format.
class IdFile : public TokenSource {
 public:
  IdFile(std::unique_ptr<DataFile> file, const IdLayout& layout);

  int64_t tokens() const override { return layout_.tokens; }
  int64_t vocab_size() const override { return layout_.vocab_size; }
  std::string format() const override { return layout_.format; }
  void read(int64_t first, std::span<int32_t> out) const override;
  /// Returns the CRC-32 of the ids in the low half, and the low bits of the file's length in the
  /// high half.
  uint64_t fingerprint() const override;

 private:
  int64_t offset_of(int64_t token) const { return layout_.offset + token * layout_.type.bytes; }
  void widen(int64_t first, const uint8_t* raw, std::span<int32_t> out) const;

  std::unique_ptr<DataFile> file_;
  IdLayout layout_;
};

// The bytes around the ids of each format of token_source.hpp. Functions is_...() look at the first
// bytes of a file. Functions ..._layout() check its header, index and length, and throw
// Error(kInput) with the place. A format without a vocabulary takes the model's.

inline constexpr std::array<uint8_t, 8> kTokenMagic = {0x93, 'Z', 'T', 'O', 'K', '\r', '\n', 0x1A};
inline constexpr int64_t kTokenHeaderBytes = 32;
inline constexpr uint32_t kLlmcMagic16 = 20240520, kLlmcMagic32 = 20240801;
inline constexpr int64_t kLlmcHeaderBytes = 1024;

/// True also for a file that is cut off within the magic.
bool is_token_file(const DataFile& file);
IdLayout token_file_layout(const DataFile& file);

bool is_llmc_file(const DataFile& file);
IdLayout llmc_layout(const DataFile& file, int64_t vocab_size);

/// Returns the path of the index: "X.idx" for "X.bin".
std::string index_path(const std::string& path);
IdLayout megatron_layout(const DataFile& file, const DataFile& index, int64_t vocab_size);

/// Returns the tokens at which the documents of an index begin, and the end of the last. REQUIRES:
/// megatron_layout() accepts the index.
std::vector<int64_t> megatron_borders(const DataFile& index);

/// Returns the layout of uint16 ids without a header. Refuses a file that reads as a text.
IdLayout nanogpt_layout(const DataFile& file, int64_t vocab_size);

/// Returns a layout with a token a byte.
IdLayout text_layout(const DataFile& file);

}  // namespace zero
