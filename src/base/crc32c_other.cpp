#include "zero/base/crc32c.hpp"

namespace zero {

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc) { return crc32c_plain(bytes, crc); }

}  // namespace zero
