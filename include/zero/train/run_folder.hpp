#pragma once

#include <string>

namespace zero::train {

/// The folder of one run, held by one live run at a time: a lock on <path>/lock, which names host
/// and process. Rank 0 owns it.
class RunFolder {
 public:
  /// Makes the folder, takes the lock, and moves what earlier runs left to old-<n>/. Throws
  /// Error(kInUse) naming the holder's host and process, or Error(kIo) with the reason.
  explicit RunFolder(const std::string& path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Where the old files went; "" if there were none.
  const std::string& moved_to() const { return moved_to_; }

 private:
  void take_lock();
  void move_old_files();

  std::string path_, moved_to_;
  int lock_ = -1;
};

}  // namespace zero::train
