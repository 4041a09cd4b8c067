#pragma once

#include "zero/base/crc32c.hpp"

namespace zero {

/// With products of polynomials, 256 bytes at a time; for a processor with avx512f and vpclmulqdq.
uint32_t crc32c_folded(std::span<const std::byte> bytes, uint32_t crc);

}  // namespace zero
