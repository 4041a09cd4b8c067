#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "zero/device/arena.hpp"
#include "zero/io/checkpoint/blocks.hpp"
#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// A slice that a rank is about to write.
struct SlicePlan {
  Tensor tensor;
  int64_t begin = 0, numel = 0;
};

class FileStructure;
class ShardStream;

/// The HDF5 structure around the payload of a rank's file. Each slice has a contiguous, early
/// allocated dataset of `numel` elements, named by dataset_name(). It has attributes "begin" and
/// "shape". bf16 is a custom float that h5py reads as float32. HDF5 makes it in memory in the
/// constructor, which two threads must not run at once. It serves any number of files; a copy is
/// the same structure.
class ShardStructure {
 public:
  /// Builds the structure of files with these slices, without their data. Throws Error(kIo).
  explicit ShardStructure(std::span<const SlicePlan> slices);

 private:
  friend class ShardWriter;
  friend std::string compare_structure(int, const std::string&, const Manifest&, const File&);
  std::shared_ptr<const FileStructure> structure_;
};

/// Bytes of memory that a file is written from, except whole pieces that are written from their own
/// place. It is small, because the disk's driver then finds pieces in the cache. Beside 32 MiB of
/// cache, a rank saved 5 % faster from 10 MiB than from 16.
inline constexpr int64_t kStagingBytes = int64_t(12) << 20;

/// A writer of one rank's HDF5 file. An I/O queue writes the payload at the offsets that HDF5 has
/// told, and digests are taken from memory. A published file is never opened again.
class ShardWriter {
 public:
  /// Makes the file `name` (O_EXCL, 0600) in the open folder `folder`, a descriptor. It gets the
  /// slices of `structure`, and its entry digests of the form `digests`. REQUIRES: `staging` has
  /// kStagingBytes and outlives the writer; several files in turn may use it. Throws Error(kIo).
  ShardWriter(int folder, const std::string& name, const ShardStructure& structure,
              const Arena& staging, const DigestForm& digests);
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  /// Appends the next elements of the next slice. Slices come in the order given, each from its
  /// first element on, in pieces of any length. `bytes` may change on return. Throws Error(kIo).
  void append(std::span<const std::byte> bytes);
  /// Appends as append(), but writes bytes from their own place where it can. REQUIRES: `bytes`
  /// stay unchanged until finish() returns or the writer is destroyed.
  void append_resting(std::span<const std::byte> bytes);

  struct Written {
    File file;
    std::vector<int64_t> offsets;  ///< [slices] byte offset of each in the file
    /// True if the file system refused direct I/O, which costs time and memory.
    bool refuses_direct = false;
  };
  /// Completes the file and returns its entry when everything is on disk (fsync). REQUIRES: all
  /// slices were appended.
  Written finish();

 private:
  std::unique_ptr<ShardStream> stream_;
};

/// A reader of slices in published files. It checks bytes against the manifest's digests before
/// their use, without HDF5.
class ShardReader {
 public:
  /// Opens `file` in the open folder `folder`, a descriptor: a regular file with one link, of the
  /// manifest's size. `folder_name` is for messages, `digests` the manifest's form. Throws
  /// Error(kInput) naming folder, file and fault; Error(kIo) if the machine cannot open it.
  ShardReader(int folder, const std::string& folder_name, const File& file,
              const DigestForm& digests);
  ~ShardReader();
  ShardReader(const ShardReader&) = delete;
  ShardReader& operator=(const ShardReader&) = delete;

  /// Notes all blocks read from now on in `ledger`, under the manifest's index `file`.
  void note_in(BlockLedger& ledger, int32_t file);

  /// Fills `out` with the file's bytes from `offset` on, and checks them. Throws Error(kInput)
  /// naming file and block if a digest differs; Error(kIo).
  void read(int64_t offset, std::span<std::byte> out);
  /// Reads the file's block of index `block` only to check its digest. Throws as read().
  void check(int64_t block);
  /// Reads and checks every block, and the file's own digest if it has one. Adds one to `checked`
  /// for each block. Throws as read().
  void verify(std::atomic<int64_t>* checked = nullptr);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The structure of checkpoint.h5, in which h5py sees whole tensors: virtual datasets over the
/// ranks' files by relative names. A missing file reads as NaN, bf16 as float32. The facts are
/// attributes of "/state" and the text "/config". One process writes it. HDF5 makes the tensors'
/// part once for all checkpoints of a run. Not thread-safe.
class IndexStructure {
 public:
  /// Makes the structure from the manifest's tensors, slices and names of the files with slices.
  /// Throws Error(kIo).
  explicit IndexStructure(const Manifest& manifest);
  /// Makes checkpoint.h5 (O_EXCL, 0600) in the open folder `folder`, a descriptor. It gets the
  /// state and facts of `manifest`, which has the same tensors. Returns its entry for the manifest
  /// when it is on disk. Throws Error(kIo).
  File write(int folder, const Manifest& manifest) const;

 private:
  friend std::string compare_structure(int, const std::string&, const Manifest&, const File&);
  FileStructure structure(const Manifest& manifest) const;
  std::vector<std::byte> without_state_;  ///< bytes of the file without state
};

/// Returns the version of the HDF5 library that writes the structure: "1.10.8". It is the fact
/// kHdf5Fact of a checkpoint.
std::string hdf5_version();
inline constexpr const char* kHdf5Fact = "hdf5";

/// Compares the bytes beside the payloads of `file`, in the open folder of a checkpoint, with those
/// this program makes of `manifest`. `folder_name` is for messages. Nothing else reads these bytes.
/// Returns "" if they are equal. Else returns why it cannot compare: another format or HDF5 wrote
/// them, or the index joins too many pieces. Reads a few KiB and takes no memory for payloads.
/// Throws Error(kInput) naming the file and the first other byte; Error(kIo). Not thread-safe.
std::string compare_structure(int folder, const std::string& folder_name, const Manifest& manifest,
                              const File& file);

}  // namespace zero::checkpoint
