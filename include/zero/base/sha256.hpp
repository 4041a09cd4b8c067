#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace zero {

/// FIPS 180-4. Bytes may come in pieces of any length.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  /// 64 hexadecimal digits; nothing can be added afterwards.
  std::string digest();

 private:
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_;
  uint64_t bytes_ = 0;
};

}  // namespace zero
