#pragma once

#include <cstdint>

#include "io/checkpoint/structure_file.hpp"

namespace zero::checkpoint {

/// A file that, when its structure is read, is written again as a whole: past the page cache where
/// its file system can, so that saving takes no memory from training and leaves the disk little to
/// do in fsync.
class PayloadFile : public StructureFile {
 public:
  using StructureFile::StructureFile;

  /// Forgets what HDF5 has written and sets the room for `bytes` aside. From then on writes must be
  /// whole pages, of memory and of the file, until use_page_cache(). Throws Error(kIo).
  void begin_payload(int64_t bytes);
  /// For an end that is no whole page. No write is under way. Throws Error(kIo).
  void use_page_cache();

 private:
  void allocate(int64_t bytes);
  bool goes_past_page_cache();
};

}  // namespace zero::checkpoint
