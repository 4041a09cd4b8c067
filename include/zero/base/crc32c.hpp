#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace zero {

/// Castagnoli's; the highest power stands in the lowest bit.
inline constexpr uint32_t kCrc32cPolynomial = 0x82f63b78u;

/// The CRC of iSCSI and of most disks' own checks (Castagnoli's polynomial), which processors
/// compute: on x86 some 25 GB/s a core and with AVX-512 more than memory gives, elsewhere 1 GB/s.
/// Continues from `crc`, 0 at first. The nine digits "123456789" give 0xe3069283. Source: RFC 3720,
/// B.4.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);

/// The same without the processor's instruction.
uint32_t crc32c_plain(std::span<const std::byte> bytes, uint32_t crc = 0);

}  // namespace zero
