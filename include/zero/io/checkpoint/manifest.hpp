#pragma once
/// The contents of MANIFEST.json, as plain data.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/dtype.hpp"

namespace zero::checkpoint {

/// The version written into every checkpoint. Older versions load; newer ones are refused naming
/// both.
inline constexpr int64_t kFormatVersion = 4;
/// The last version with a CRC-32C for each block and one more digest for each file.
inline constexpr int64_t kCrc32cVersion = 3;
/// The last version in which all blocks are long.
inline constexpr int64_t kLongBlocksVersion = 2;
/// The last version in which a file's digest covers its bytes from first to last.
inline constexpr int64_t kDigestsOfBytesVersion = 1;
/// Two constants: the bytes of a short and of a long block of a checkpoint's files. Each block has
/// its own digest. Blocks are short because ranks whose slices share a block both read it, and
/// because it stays in a core's cache until it is used. They are long if a checkpoint's tensors
/// have more than kShortBlocksMost bytes, because the manifest would be too long.
inline constexpr int64_t kShortBlockBytes = int64_t(256) << 10, kLongBlockBytes = int64_t(1) << 20;
inline constexpr int64_t kShortBlocksMost = int64_t(1) << 40;
/// Most bytes of a manifest that is written or read: digests of about 8 TiB.
inline constexpr int64_t kManifestBytesMax = int64_t(256) << 20;
/// Most bytes of a manifest that are read: the first number, plus one for each
/// kFileBytesOfManifestByte bytes of the checkpoint's files. A longer manifest cannot be theirs,
/// because a block has 32 digits.
inline constexpr int64_t kManifestBytesOfAny = int64_t(64) << 20, kFileBytesOfManifestByte = 4096;
inline constexpr const char* kManifestName = "MANIFEST.json";
/// The file that only people read.
inline constexpr const char* kIndexName = "checkpoint.h5";

/// Returns the name of a rank's file: "rank00003.h5".
std::string rank_file_name(int rank);

/// A whole tensor, stored in slices in the ranks' files.
struct Tensor {
  /// Dataset name, "model/<name>" or "optimizer/momentum/<name>": printable ASCII without '@'.
  std::string name;
  Dtype dtype = Dtype::f32;    ///< f32, bf16, f16 or f64
  std::vector<int64_t> shape;  ///< 1 to 8 extents, none of them 0

  bool operator==(const Tensor&) const = default;
};

/// A slice: elements [begin, begin + numel) of a tensor in row-major order, in one file.
struct Slice {
  int32_t tensor = 0;  ///< index into Manifest::tensors
  int32_t file = 0;    ///< index into Manifest::files
  int64_t begin = 0, numel = 0;
  int64_t offset = 0;  ///< byte offset in the file

  bool operator==(const Slice&) const = default;
};

/// A file and the digests of what was written into it, taken from memory.
struct File {
  std::string name;  ///< "rank00000.h5", or "checkpoint.h5", which only people read
  int64_t bytes = 0;
  /// Hexadecimal digits of the blocks in order: 32 for each XXH3-128, or 8 for each CRC-32C.
  std::string digests;
  /// With CRC-32C alone: 32 digits of the XXH3-128 over the blocks' XXH3-128 digests in order, or
  /// over the file's bytes.
  std::string xxh3;

  bool operator==(const File&) const = default;
};

/// Returns the dataset name of the slice from element `begin` on of a tensor named `tensor`: that
/// name, with "@<begin>" unless `begin` is 0.
std::string dataset_name(const std::string& tensor, int64_t begin);

struct Manifest {
  int64_t format_version = kFormatVersion;
  int64_t step = 0;
  int32_t ranks = 1;
  /// Text that a resume needs or compares, by name: "seed", "samples_consumed", "stage",
  /// "architecture", "compute", "data", "configuration" (the TOML text), "arithmetic", "build" ...
  /// Names are printable ASCII of 1 to 128 characters, values UTF-8.
  std::map<std::string, std::string> facts;
  std::vector<Tensor> tensors;
  std::vector<Slice> slices;
  std::vector<File> files;

  bool operator==(const Manifest&) const = default;
};

/// The form of a checkpoint's digests.
struct DigestForm {
  int64_t block_bytes = kShortBlockBytes;
  bool is_crc32c = false;         ///< blocks have a CRC-32C, and files an XXH3-128 besides
  bool file_is_of_bytes = false;  ///< XXH3-128 of the file's bytes, else of its blocks' XXH3-128

  int64_t digits() const { return is_crc32c ? 8 : 32; }  ///< digits of a block
  /// Returns the number of blocks of a file.
  int64_t blocks_of(const File& file) const {
    return file.bytes / block_bytes + (file.bytes % block_bytes > 0);
  }
};
/// Returns the form of a checkpoint's digests by the format version and tensors of its manifest.
DigestForm digest_form(const Manifest& manifest);

/// Returns the manifest as JSON with a last member that is the SHA-256 of all before it.
std::string to_text(const Manifest& manifest);

/// Returns an upper bound on the bytes of to_text() for a manifest that a save starts from. The
/// save then adds files and the slices' places. Tells before training what kManifestBytesMax
/// forbids. REQUIRES: each slice's `file` is its rank.
int64_t text_bytes_most(const Manifest& described);

/// Parses `text`, an output of to_text(), strictly: known members of the right types, and files
/// named "rank%05d.h5" or "checkpoint.h5". Slices lie inside their tensors and files, without
/// overlap, and cover every tensor exactly once. Throws Error(kInput) naming the manifest's `path`,
/// the place and the fault; Error(kNoCheckpoint) for a newer format version, naming both.
Manifest parse_manifest(std::string_view text, const std::string& path);

}  // namespace zero::checkpoint
