#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/io/files/input_file.hpp"

namespace zero {

inline constexpr int64_t kZipDirectoryBytesMax = int64_t(4) << 20;
inline constexpr size_t kZipNameBytesMax = 1024;

/// A file in a zip archive, stored as it is.
struct ZipEntry {
  std::string name;
  int64_t header = 0;          ///< place of its header in the archive
  int64_t begin = 0, end = 0;  ///< bytes [begin, end) of the archive
  uint32_t crc = 0;            ///< CRC-32 of the bytes; 0 if the archive states none
};

/// Returns the entries of an untrusted zip archive, also of zip64, in the order of their bytes.
/// Only the directory at the archive's end counts, so sizes may follow an entry's bytes. Reads no
/// entry, so its CRC is still to be checked. Throws Error(kInput) for compressed or encrypted
/// entries, entries that overlap or leave the file, two of one name, several volumes, and text
/// behind the directory.
std::vector<ZipEntry> zip_entries(const InputFile& file);

}  // namespace zero
