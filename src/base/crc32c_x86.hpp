#pragma once

#include "zero/base/crc32c.hpp"

namespace zero {

/// With the instruction for it, in three lanes; for a processor with sse4.2.
uint32_t crc32c_sse(std::span<const std::byte> bytes, uint32_t crc);

/// With products of polynomials, 256 bytes at a time, and the rest as above; for a processor with
/// avx512f, vpclmulqdq and pclmul besides.
uint32_t crc32c_folded(std::span<const std::byte> bytes, uint32_t crc);

}  // namespace zero
