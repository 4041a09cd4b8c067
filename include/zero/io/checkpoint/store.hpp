#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// A folder of checkpoints: step%08d folders, `latest` (a relative link to one), LOCK, and what is
/// under way or being removed. The functions are one process's part of the protocol; who calls what
/// when is train/checkpointer's. Every file system result is looked at; a failed fsync is never
/// repeated.
class Store {
 public:
  /// Makes the folder (0700 or `permissions`), takes its lock where `writes`, and then removes what
  /// a killed process left half-made. Throws Error(kInUse) with the holder's host and pid,
  /// Error(kIo).
  struct Options {
    std::string root;
    bool writes = false;
    int permissions = 0700;
  };
  explicit Store(const Options& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Makes the temporary folder of a step and returns its name, ".tmp-step00001200-<128-bit id>".
  /// By one rank.
  std::string begin(int64_t step);

  /// The folder's descriptor, to be closed by the caller (O_DIRECTORY, O_NOFOLLOW). By every rank.
  int open_folder(const std::string& name) const;

  /// Writes and syncs the manifest into the temporary folder. By one rank, when all files are
  /// written.
  void write_manifest(const std::string& temporary, const Manifest& manifest);

  /// Renames the temporary folder to its final name, moves `latest`, syncs. By one rank, after
  /// every rank has synced the folder. The checkpoint is acknowledged when it returns.
  void publish(const std::string& temporary, int64_t step);

  /// Removes a temporary folder after a failure on any rank; errors are returned, not thrown.
  std::string abandon(const std::string& temporary);

  struct Retention {
    int64_t keep = 2;        ///< the newest ones; at least 2, 0 = all
    int64_t keep_every = 0;  ///< and every step that it divides; 0 = none
    std::optional<int64_t> best;
  };
  /// Removes what need not be kept, never the newest that verifies.
  void retain(const Retention& retention);

  /// Steps with a folder, ascending; nothing is said about what is in them.
  std::vector<int64_t> steps() const;
  /// The step that `latest` points at, if it is well-formed and there.
  std::optional<int64_t> latest() const;
  /// Name of a step's folder, "step00001200".
  static std::string folder_of(int64_t step);

  /// Reads and checks the manifest of a step; with `whole` every block of every file too. Throws
  /// Error(kInput) naming file and block.
  Manifest verify(int64_t step, bool whole) const;

  const std::string& root() const { return options_.root; }

 private:
  void take_lock();
  void collect();

  Options options_;
  int root_ = -1, lock_ = -1;
};

}  // namespace zero::checkpoint
