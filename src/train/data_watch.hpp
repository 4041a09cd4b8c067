#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zero::train {

/// Whether files that a run goes on reading from are still those that it began with.
class DataWatch {
 public:
  /// Notes inode, size and time of each as it is now. What is not there may be so.
  explicit DataWatch(std::vector<std::string> paths);

  /// The first that has another inode, size or time by now; "" where none has. One that is gone is
  /// still read by whoever has it open.
  std::string changed() const;
  /// What is there now is what the next question is about.
  void renew();
  /// The bytes of all files together.
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
