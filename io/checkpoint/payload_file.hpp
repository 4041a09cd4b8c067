#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {

/// What goes past the page cache goes in whole pages.
inline constexpr size_t kPageBytes = 4096;

/// A new file (O_EXCL) in an open folder, for its owner alone unless `mode` says more. It is
/// written past the page cache where its file system can, so that saving takes no memory from
/// training and leaves the disk little to do in fsync. Every function throws Error(kIo) naming file
/// and reason.
class PayloadFile {
 public:
  PayloadFile(int folder, const std::string& name, int mode = 0600);

  int descriptor() const { return file_.descriptor(); }
  /// For messages: the folder as the system knows it, and the name.
  const std::string& path() const { return path_; }

  /// Sets the room for `bytes` aside. From then on writes must be whole pages of the file, out of
  /// memory with memory_alignment(), until use_page_cache().
  void begin_payload(int64_t bytes);
  /// Whether the file system would not have the page cache passed by.
  bool refuses_direct() const { return refuses_direct_; }
  /// Whether writes must be whole pages.
  bool is_direct() const { return is_direct_; }
  /// Bytes of whose multiples the address of a write's memory must be one.
  size_t memory_alignment() const { return memory_alignment_; }
  /// For an end that is no whole page. No write is under way.
  void use_page_cache();
  /// Appends through the page cache, without begin_payload().
  void write(std::span<const std::byte> bytes) const;
  /// Once; what a failed fsync has lost no second one brings back.
  void sync();

 private:
  void allocate(int64_t bytes);
  bool goes_past_page_cache();
  bool takes_page(const std::byte* page) const;

  std::string path_;
  OpenFile file_;
  bool is_direct_ = false, refuses_direct_ = false;
  size_t memory_alignment_ = 1;
};

}  // namespace zero::checkpoint
