#pragma once

#include <span>
#include <string>
#include <vector>

#include "zero/io/files/files.hpp"

namespace zero::train {

/// The folder of one run, held by one live run at a time: a lock on <path>/lock, which names host
/// and process. A lock ends with its process, however that ended; where a file system knows no
/// locks, the file's word counts. Rank 0 owns it.
class RunFolder {
 public:
  /// Makes the folder, takes the lock, and tries whether a file reaches the disk. Throws
  /// Error(kInUse) naming the holder's host and process, or Error(kIo) with the path and the
  /// reason; then nothing of an earlier run has been touched.
  explicit RunFolder(const std::string& path);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// Where an earlier run left nothing to go on from, or it is not wanted: its files, and its
  /// checkpoints if asked for, move to old-<n>/. Throws Error(kIo).
  void make_way(bool with_checkpoints);
  /// This launch may fail, too: an earlier one's error is removed. Throws Error(kIo).
  void forget_error();
  /// An earlier run goes on: its metrics and launches stay, its summary is removed, and what it has
  /// written at an end, such as model/, moves to old-<n>/. Throws Error(kIo).
  void go_on();

  /// Gives a file of the run this content, as launch::write_file() does. Throws Error(kIo).
  void write(const std::string& name, const std::string& content) const;

  /// Gives this content to a file in its folder generated/, which is made; a link is none of ours.
  void write_generated(const std::string& name, const std::string& content) const;

  const std::string& path() const { return path_; }
  /// Where an earlier run's files went; "" if there were none.
  const std::string& moved_to() const { return moved_to_; }
  /// How that run had ended: "finished step 600"; "" if nothing says so.
  const std::string& earlier_end() const { return earlier_end_; }

 private:
  void try_disk() const;
  void remove(const char* name) const;
  std::vector<std::string> present(std::span<const char* const> names) const;
  void move_away(const std::vector<std::string>& names);

  std::string path_, moved_to_, earlier_end_;
  LockFile lock_;
};

}  // namespace zero::train
