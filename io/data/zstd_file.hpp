#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "zero/io/files/input_file.hpp"

namespace zero {

/// Most bytes that a compressed file of records may have when it is unpacked.
inline constexpr int64_t kMostUnpackedBytes = int64_t(4) << 30;

/// Gives the content of a file that zstd compressed to `take`, in pieces of some 128 KiB. Throws
/// Error(kInput) if the file is damaged or cut off, and in a build without libzstd.
void unpack_zstd(const InputFile& file,
                 const std::function<void(std::span<const std::byte>)>& take);

/// Returns the content of a file that zstd compressed. Throws Error(kInput) if it is damaged, cut
/// off or larger than kMostUnpackedBytes, and in a build without libzstd.
std::string unpacked_zstd(const InputFile& file);

}  // namespace zero
