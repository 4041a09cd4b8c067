#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zero::train {

/// A watch over files that a run keeps reading. It finds files that were replaced or changed.
class DataWatch {
 public:
  /// Notes inode, size and time of each file. Files may be absent.
  explicit DataWatch(std::vector<std::string> paths);

  /// Returns the first file whose inode, size or time has changed since the note, or "". Ignores
  /// deleted files, because a process that has one open still reads it.
  std::string changed() const;
  /// Notes the files again, for later calls of changed().
  void renew();
  /// Returns the noted bytes of all files together.
  int64_t bytes() const;

 private:
  struct Stamp {
    bool is_there = false;
    uint64_t device = 0, inode = 0;
    int64_t bytes = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp_of(const std::string& path);

  std::vector<std::string> paths_;
  std::vector<Stamp> stamps_;
};

}  // namespace zero::train
