#pragma once

#include <memory>
#include <optional>

#include "io/data/data_file.hpp"
#include "io/data/id_type.hpp"
#include "io/data/token_source.hpp"

namespace zero {

/// Where a format keeps its ids: `tokens` of them, one behind the other from `offset` to the end.
struct IdLayout {
  std::string format = {};
  IdType type = kUint8;
  int64_t offset = 0;
  int64_t tokens = 0;
  int64_t vocab_size = 0;            ///< every id must be below
  std::optional<uint32_t> crc = {};  ///< CRC-32 of the ids, where the format has one
  bool utf8 = false;                 ///< the ids are the bytes of a text
};

/// The ids of a file, whatever the format around them.
class IdFile : public TokenSource {
 public:
  IdFile(std::unique_ptr<DataFile> file, const IdLayout& layout);

  int64_t tokens() const override { return layout_.tokens; }
  int64_t vocab_size() const override { return layout_.vocab_size; }
  std::string format() const override { return layout_.format; }
  void read(int64_t first, std::span<int32_t> out) const override;
  /// The CRC-32 of the ids in the low half, the low bits of the file's length in the high half.
  uint64_t fingerprint() const override;

 private:
  int64_t offset_of(int64_t token) const { return layout_.offset + token * layout_.type.bytes; }
  void widen(int64_t first, const uint8_t* raw, std::span<int32_t> out) const;

  std::unique_ptr<DataFile> file_;
  IdLayout layout_;
};

}  // namespace zero
