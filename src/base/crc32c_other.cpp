#include "src/base/crc32c_ways.hpp"

namespace zero {

std::vector<Crc32c> crc32c_ways() { return {crc32c_plain}; }

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc) { return crc32c_plain(bytes, crc); }

}  // namespace zero
