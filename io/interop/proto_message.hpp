#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace zero {

/// A protobuf message that is being written. It keeps its memory when it is cleared.
class ProtoMessage {
 public:
  explicit ProtoMessage(size_t bytes = 0) { bytes_.reserve(bytes); }

  void clear() { bytes_.clear(); }
  std::string_view bytes() const { return bytes_; }

  // Each adds a field, by its number in the message.
  void integer(uint32_t field, int64_t value) {
    key(field, 0);
    varint(uint64_t(value));
  }
  void fixed64(uint32_t field, double value) {
    key(field, 1);
    little_endian(std::bit_cast<uint64_t>(value), 8);
  }
  void fixed32(uint32_t field, float value) {
    key(field, 5);
    little_endian(std::bit_cast<uint32_t>(value), 4);
  }
  /// A text, or another message.
  void bytes(uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
  }

 private:
  void key(uint32_t field, uint32_t wire_type) { varint(field << 3 | wire_type); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += char(value | 0x80);
    bytes_ += char(value);
  }
  void little_endian(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += char(value >> (8 * i));
  }

  std::string bytes_;
};

}  // namespace zero
