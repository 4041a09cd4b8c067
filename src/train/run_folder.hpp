#pragma once

#include <span>
#include <string>
#include <vector>

#include "zero/io/files/lock_file.hpp"

namespace zero::train {

/// The folder of one run, held by one live run at a time. A lock on <path>/lock names host and
/// process. A lock ends with its process, however that ended. Without locks in the file system, the
/// file's text counts. Rank 0 owns the folder.
class RunFolder {
 public:
  /// Makes the folder, takes the lock, and tests that a file reaches the disk. Throws Error(kInUse)
  /// naming the holder's host and process, or Error(kIo) with path and reason. An error leaves
  /// files of earlier runs untouched.
  explicit RunFolder(const std::string& path);
  /// Removes the lock files and empty folders that a refused launch made. See keep().
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// Notes that `folder` is about to be made, with this lock in it, for the destructor.
  void will_make(const std::string& folder, const char* lock);
  /// Keeps all that was made, because a launch begins.
  void keep() { is_kept_ = true; }

  /// Moves files of an earlier run to old-<n>/, its checkpoints too if asked for. REQUIRES: the run
  /// left nothing to go on from, or must not go on. Throws Error(kIo).
  void make_way(bool with_checkpoints);
  /// Removes the error of an earlier launch, because this one may fail too. Throws Error(kIo).
  void forget_error();
  /// Makes room to continue an earlier run: keeps metrics and launches, removes the summary, and
  /// moves what its end left, such as model/, to old-<n>/. Throws Error(kIo).
  void go_on();

  /// Writes a file of the run as replace_own() does. Throws Error(kIo).
  void write(const std::string& name, const std::string& content) const;

  /// Writes a file in the folder generated/, which is made. Throws Error(kIo), also if generated/
  /// is a link.
  void write_generated(const std::string& name, const std::string& content) const;

  const std::string& path() const { return path_; }
  /// Returns the folder to which an earlier run's files moved, or "".
  const std::string& moved_to() const { return moved_to_; }
  /// Returns the end of the earlier run: "finished step 600", or "" if unknown.
  const std::string& earlier_end() const { return earlier_end_; }

 private:
  struct Members {};
  RunFolder(const std::string& path, Members) : path_(path) {}

  void try_disk() const;
  void remove(const char* name) const;
  std::vector<std::string> present(std::span<const char* const> names) const;
  void move_away(const std::vector<std::string>& names);

  std::string path_, moved_to_, earlier_end_;
  LockFile lock_;
  std::vector<std::string> made_, locks_;  ///< absent until this launch; innermost folders first
  bool is_kept_ = false;
};

}  // namespace zero::train
