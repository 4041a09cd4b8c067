#pragma once

#include <cstdint>
#include <string>

#include "zero/io/files/input_file.hpp"

namespace zero {

/// Most bytes that a compressed file of records may have when it is unpacked.
inline constexpr int64_t kMostUnpackedBytes = int64_t(4) << 30;

/// Returns the content of a file that zstd compressed. Throws Error(kInput) if it is damaged, cut
/// off or larger than kMostUnpackedBytes, and in a build without libzstd.
std::string unpacked_zstd(const InputFile& file);

}  // namespace zero
