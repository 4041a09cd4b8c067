#pragma once
/// What a checkpoint consists of: the contents of MANIFEST.json, as plain data.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/dtype.hpp"

namespace zero::checkpoint {

/// Written into every checkpoint. Older versions load; newer ones are refused naming both.
inline constexpr int64_t kFormatVersion = 4;
/// The last version with a CRC-32C of each block, and a digest of each file besides.
inline constexpr int64_t kCrc32cVersion = 3;
/// The last version in which all blocks are long.
inline constexpr int64_t kLongBlocksVersion = 2;
/// The last version in which the digest of a file is of its bytes, from the first to the last.
inline constexpr int64_t kDigestsOfBytesVersion = 1;
/// Digests are kept for each block of a file. Short ones, as ranks whose slices share a block both
/// read it, and as it stays in a core's cache until it is used; long ones where tensors are more
/// than kShortBlocksMost bytes, whose manifest would be too long.
inline constexpr int64_t kShortBlockBytes = int64_t(256) << 10, kLongBlockBytes = int64_t(1) << 20;
inline constexpr int64_t kShortBlocksMost = int64_t(1) << 40;
/// Its text has at most so much: a longer one is neither written nor read. Digests of about 8 TiB.
inline constexpr int64_t kManifestBytesMax = int64_t(256) << 20;
/// No more of a manifest is read than this and a byte for so many of the checkpoint's files: a
/// block has 32 digits, so a manifest that is longer is not theirs.
inline constexpr int64_t kManifestBytesOfAny = int64_t(64) << 20, kFileBytesOfManifestByte = 4096;
inline constexpr const char* kManifestName = "MANIFEST.json";
/// The file that only people read.
inline constexpr const char* kIndexName = "checkpoint.h5";

/// "rank00003.h5"
std::string rank_file_name(int rank);

/// A whole tensor, which lies in slices in the ranks' files.
struct Tensor {
  /// Its dataset, "model/<name>" or "optimizer/momentum/<name>": printable ASCII without '@'.
  std::string name;
  Dtype dtype = Dtype::f32;    ///< f32, bf16, f16 or f64
  std::vector<int64_t> shape;  ///< 1 to 8 extents, none of them 0

  bool operator==(const Tensor&) const = default;
};

/// Elements [begin, begin + numel) of a tensor in row-major order, as they lie in one file.
struct Slice {
  int32_t tensor = 0;  ///< index into Manifest::tensors
  int32_t file = 0;    ///< index into Manifest::files
  int64_t begin = 0, numel = 0;
  int64_t offset = 0;  ///< of the first byte in the file

  bool operator==(const Slice&) const = default;
};

/// One file and the digests of what was written into it, taken from memory.
struct File {
  std::string name;  ///< "rank00000.h5", or "checkpoint.h5", which only people read
  int64_t bytes = 0;
  /// Hexadecimal digits of its blocks, one after the other: 32 for the XXH3-128 of each, or 8 for
  /// its CRC-32C.
  std::string digests;
  /// With CRC-32C alone: 32 digits for the XXH3-128 of those of each block, one after the other, or
  /// of the file's bytes.
  std::string xxh3;

  bool operator==(const File&) const = default;
};

/// The dataset of a slice: the tensor's name, with "@<begin>" where it does not begin at element 0.
std::string dataset_name(const std::string& tensor, int64_t begin);

struct Manifest {
  int64_t format_version = kFormatVersion;
  int64_t step = 0;
  int32_t ranks = 1;
  /// What a resume needs or compares, in words: "seed", "samples_consumed", "stage",
  /// "architecture", "compute", "data", "configuration" (the TOML text), "arithmetic", "build" ...
  /// Names are printable ASCII of 1 to 128 characters, values UTF-8.
  std::map<std::string, std::string> facts;
  std::vector<Tensor> tensors;
  std::vector<Slice> slices;
  std::vector<File> files;

  bool operator==(const Manifest&) const = default;
};

/// What the digests of a checkpoint's files are of.
struct DigestForm {
  int64_t block_bytes = kShortBlockBytes;
  bool is_crc32c = false;         ///< of blocks, and files have an XXH3-128 besides
  bool file_is_of_bytes = false;  ///< that one, else of its blocks' XXH3-128

  int64_t digits() const { return is_crc32c ? 8 : 32; }  ///< of a block
  int64_t blocks_of(const File& file) const {
    return file.bytes / block_bytes + (file.bytes % block_bytes > 0);
  }
};
/// By format version and tensors.
DigestForm digest_form(const Manifest& manifest);

/// JSON with a last member that is the SHA-256 of all before it.
std::string to_text(const Manifest& manifest);

/// At most so long is to_text() when a save has filled in what it lacks: places of slices, which
/// name their files by rank, and files. Tells before training what kManifestBytesMax forbids.
int64_t text_bytes_most(const Manifest& described);

/// The reverse, strict: known members of the right types, names that are "rank%05d.h5" or
/// "checkpoint.h5", slices inside their tensors and files, none over another, every tensor covered
/// exactly once.
/// Throws Error(kInput) naming `path`, the place and what is wrong; Error(kNoCheckpoint) for a
/// newer format version, naming both.
Manifest parse_manifest(std::string_view text, const std::string& path);

}  // namespace zero::checkpoint
