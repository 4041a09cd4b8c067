#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// A slice that one rank is about to write.
struct SlicePlan {
  Tensor tensor;
  int64_t begin = 0, numel = 0;
};

/// One rank's HDF5 file. HDF5 writes the structure: a contiguous, early allocated dataset of
/// `numel` elements for each slice, named by dataset_name(), with attributes "begin" and "shape";
/// bf16 as a custom float that h5py reads as float32. The payload goes by our own queue to the
/// offsets that HDF5 tells, with digests taken from memory on the way. Never opened again after it
/// is published. HDF5 is done with, and closed, when the constructor returns; it is not safe to
/// use by two threads.
class ShardWriter {
 public:
  /// Makes `name` (O_EXCL, 0600) in the open folder. Throws Error(kIo).
  ShardWriter(int folder, const std::string& name, std::span<const SlicePlan> slices);
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  /// The next elements of the next slice: slices in the order given, each from its first element
  /// on, in pieces of any length. `bytes` may be changed when it returns. Throws Error(kIo).
  void append(std::span<const std::byte> bytes);

  struct Written {
    File file;
    std::vector<int64_t> offsets;  ///< [slices] of their first byte
  };
  /// Everything is on the disk (fsync) when it returns. Requires that all was appended.
  Written finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Reads slices of published files. The bytes are checked against the manifest's digests before
/// they are used; HDF5 is not involved.
class ShardReader {
 public:
  /// Opens `file` in the open folder: a regular file with one link, of the size that the manifest
  /// names. Throws Error(kInput) naming folder, file and what is wrong.
  ShardReader(int folder, const std::string& folder_name, const File& file);
  ~ShardReader();
  ShardReader(const ShardReader&) = delete;
  ShardReader& operator=(const ShardReader&) = delete;

  /// Throws Error(kInput) naming file and block where a digest does not hold; Error(kIo).
  void read(int64_t offset, std::span<std::byte> out);
  /// Checks every block, by so many threads.
  void verify(int threads = 1) const;
  /// Requires that HDF5 would see in the file what the manifest says, and nothing else: no links
  /// but hard ones, no storage elsewhere, no other shapes, types or attributes. Few KiB are read.
  /// Throws Error(kInput) naming file and object.
  void require_structure(const Manifest& manifest) const;

 private:
  struct Parts;
  class Verification;
  std::unique_ptr<Parts> parts_;
};

/// checkpoint.h5: one file in which h5py sees whole tensors, virtual datasets over the ranks' files
/// by relative names, NaN where a file is missing (h5py shows bf16 as float32); "/state" and
/// "/config" from the facts as attributes and text. Written by one process; returns its entry for
/// the manifest.
File write_index(int folder, const Manifest& manifest);

/// "1.10.8": of the library that writes the structure.
std::string hdf5_version();

}  // namespace zero::checkpoint
