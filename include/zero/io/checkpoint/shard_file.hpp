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

/// A slice that one rank is about to write.
struct SlicePlan {
  Tensor tensor;
  int64_t begin = 0, numel = 0;
};

class FileStructure;
class ShardStream;

/// What a rank's HDF5 file holds beside its payload: a contiguous, early allocated dataset of
/// `numel` elements for each slice, named by dataset_name(), with attributes "begin" and "shape";
/// bf16 as a custom float that h5py reads as float32. HDF5 makes it in memory and is done with when
/// the constructor returns; it is not safe to use by two threads. Good for any number of files; a
/// copy is the same structure.
class ShardStructure {
 public:
  /// Throws Error(kIo).
  explicit ShardStructure(std::span<const SlicePlan> slices);

 private:
  friend class ShardWriter;
  friend std::string compare_structure(int, const std::string&, const Manifest&, const File&);
  std::shared_ptr<const FileStructure> structure_;
};

/// The memory that a file is written out of, but for what lies in whole pieces where it is. It is
/// short, so that the disk's driver finds pieces in the cache: beside 32 MiB of cache, a rank saved
/// 5 % faster out of 10 MiB than out of 16.
inline constexpr int64_t kStagingBytes = int64_t(12) << 20;

/// One rank's HDF5 file. The payload goes by our own queue to the offsets that HDF5 has told, with
/// digests taken from memory beside it. Never opened again after it is published.
class ShardWriter {
 public:
  /// Makes `name` (O_EXCL, 0600) in the open folder. `staging`, of kStagingBytes, outlives it: who
  /// writes file after file takes that memory once. Throws Error(kIo).
  ShardWriter(int folder, const std::string& name, const ShardStructure& structure,
              const Arena& staging, const DigestForm& digests);
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  /// The next elements of the next slice: slices in the order given, each from its first element
  /// on, in pieces of any length. `bytes` may be changed when it returns. Throws Error(kIo).
  void append(std::span<const std::byte> bytes);
  /// As append(), for bytes that stay as they are until finish() has returned or this is gone: what
  /// can goes to the disk from where it lies.
  void append_resting(std::span<const std::byte> bytes);

  struct Written {
    File file;
    std::vector<int64_t> offsets;  ///< [slices] of their first byte
    /// The file system would not have the page cache passed by, which costs time and memory.
    bool refuses_direct = false;
  };
  /// Everything is on the disk (fsync) when it returns. Requires that all was appended.
  Written finish();

 private:
  std::unique_ptr<ShardStream> stream_;
};

/// Reads slices of published files. The bytes are checked against the manifest's digests before
/// they are used; HDF5 is not involved.
class ShardReader {
 public:
  /// Opens `file`, of a manifest with digests of that form, in the open folder: a regular file with
  /// one link, of the size that the manifest names. Throws Error(kInput) naming folder, file and
  /// what is wrong; Error(kIo) where the machine could not open it.
  ShardReader(int folder, const std::string& folder_name, const File& file,
              const DigestForm& digests);
  ~ShardReader();
  ShardReader(const ShardReader&) = delete;
  ShardReader& operator=(const ShardReader&) = delete;

  /// From now on what is read is noted there, as of the manifest's file of this index.
  void note_in(BlockLedger& ledger, int32_t file);

  /// Throws Error(kInput) naming file and block where a digest does not hold; Error(kIo).
  void read(int64_t offset, std::span<std::byte> out);
  /// Reads a block for its digest alone. Throws as read().
  void check(int64_t block);
  /// Checks every block, and the file's own digest if it has one; `checked` rises by one with each
  /// block. Throws as read().
  void verify(std::atomic<int64_t>* checked = nullptr);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// checkpoint.h5: one file in which h5py sees whole tensors, virtual datasets over the ranks' files
/// by relative names, NaN where a file is missing (h5py shows bf16 as float32); "/state" and
/// "/config" from the facts as attributes and text. Written by one process. What is the same in
/// each checkpoint of a run, the tensors, HDF5 makes once. Not safe to use by two threads.
class IndexStructure {
 public:
  /// Made from tensors, slices and the names of the files with slices. Throws Error(kIo).
  explicit IndexStructure(const Manifest& manifest);
  /// Makes the file (O_EXCL, 0600) in the open folder, with the state and the facts of this
  /// manifest of the same tensors; on the disk when it returns. Its entry for the manifest. Throws
  /// Error(kIo).
  File write(int folder, const Manifest& manifest) const;

 private:
  friend std::string compare_structure(int, const std::string&, const Manifest&, const File&);
  FileStructure structure(const Manifest& manifest) const;
  std::vector<std::byte> without_state_;  ///< the file
};

/// "1.10.8": of the library that writes the structure. A checkpoint has it as the fact kHdf5Fact.
std::string hdf5_version();
inline constexpr const char* kHdf5Fact = "hdf5";

/// Compares what a file of a checkpoint holds beside its payloads, which nothing in this program
/// reads, with what this program makes of the same manifest. Returns why it does not: another
/// format or another HDF5 has written it, or HDF5 makes nothing of this manifest; "" if all is the
/// same. Few KiB are read, and no memory is taken for payloads. Throws Error(kInput) naming the
/// file and the first byte that is another; Error(kIo). Not safe to use by two threads.
std::string compare_structure(int folder, const std::string& folder_name, const Manifest& manifest,
                              const File& file);

}  // namespace zero::checkpoint
