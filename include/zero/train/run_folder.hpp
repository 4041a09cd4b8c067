#pragma once

#include <string>
#include <vector>

#include "zero/io/files/lock_file.hpp"

namespace zero::train {

/// The folder of one run, held by one live run at a time: a lock on <path>/lock, which names host
/// and process. A lock ends with its process, however that ended; where a file system knows no
/// locks, the file's word counts. Rank 0 owns it.
class RunFolder {
 public:
  /// Makes the folder, takes the lock, tries whether a file reaches the disk, and makes room where
  /// an earlier run was. Throws Error(kInUse) naming the holder's host and process, or Error(kIo)
  /// with the path and the reason; then nothing of an earlier run has been touched.
  explicit RunFolder(const std::string& path);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Where an earlier run's files went; "" if there were none.
  const std::string& moved_to() const { return moved_to_; }
  /// How that run had ended: "finished step 600"; "" if nothing says so.
  const std::string& earlier_end() const { return earlier_end_; }

 private:
  void try_disk() const;
  void receive_earlier_run();
  void move_away(const std::vector<std::string>& names);

  std::string path_, moved_to_, earlier_end_;
  LockFile lock_;
};

}  // namespace zero::train
