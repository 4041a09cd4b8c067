#pragma once
/// How crc32c() can be computed on this processor.

#include <vector>

#include "zero/base/crc32c.hpp"

namespace zero {

using Crc32c = uint32_t (*)(std::span<const std::byte> bytes, uint32_t crc);

/// The slowest first.
std::vector<Crc32c> crc32c_ways();

}  // namespace zero
