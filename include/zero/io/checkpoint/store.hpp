#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"
#include "zero/io/files/lock_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {

/// A folder of checkpoints: step%08d folders, `latest` (a relative link to one), LOCK, and folders
/// being made or removed. Each function is one process's part of the protocol; save/checkpointer
/// decides who calls which, and when. Every file system result is checked; a failed fsync is never
/// repeated.
class Store {
 public:
  /// The folder, and the permissions of what this process writes there.
  struct Options {
    std::string root;
    bool writes = false;
    int permissions = 0700;
  };
  /// Opens the folder `options.root`. With `writes`, makes it, takes its lock and gives both
  /// `permissions`. An existing folder gets them if it is this user's and holds nothing else;
  /// otherwise warns. Then mends what a killed process left. Removes half-made and half-removed
  /// folders and empty step folders. Moves `latest` on to a newer whole step that verifies. Throws
  /// Error(kInUse) with the holder's host and pid, Error(kIo).
  explicit Store(const Options& options);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Makes the temporary folder of a step and returns its name, ".tmp-step00001200-<128-bit id>".
  /// Called by one rank. Moves a folder of that step that does not verify to
  /// "damaged-step00001200-<id>". Throws Error(kIo) if that folder verifies, because a step is
  /// never overwritten, or cannot be read. Then it stays.
  std::string begin(int64_t step);

  /// Makes a temporary folder that never becomes a step, and returns its name. Every rank tests
  /// with try_folder() that it sees the same files. Called by one rank, which abandons it.
  std::string begin_trial();
  /// Makes, syncs and removes a file named after `rank` in the folder `trial`, which begin_trial()
  /// has made. Throws Error(kIo).
  void try_folder(const std::string& trial, int rank) const;

  /// Opens the folder `name` of this store (O_DIRECTORY, O_NOFOLLOW). Returns a descriptor, which
  /// the caller closes. Called by every rank. Throws Error(kIo).
  int open_folder(const std::string& name) const;
  /// Syncs an open folder once; `name` is for messages. Called by every rank after it has written
  /// its file. Throws Error(kIo).
  static void sync_folder(int folder, const std::string& name);

  /// Writes and syncs the manifest in the folder `temporary`, which begin() has named. Called by
  /// one rank after all files are written. Throws Error(kIo), also if it is longer than a reader
  /// takes.
  void write_manifest(const std::string& temporary, const Manifest& manifest);

  /// Renames the folder `temporary` to the name of `step`, moves `latest` and syncs. Called by one
  /// rank after every rank has synced the folder. The checkpoint is acknowledged on return. On a
  /// throw, the folder has its temporary name and `latest` its old target.
  void publish(const std::string& temporary, int64_t step);

  /// Removes the folder `temporary` of begin() or begin_trial() after a failure on any rank.
  /// Returns the error text, "" if none.
  std::string abandon(const std::string& temporary);

  struct Retention {
    int64_t keep = 2;        ///< newest steps; at least 2, 0 = all
    int64_t keep_every = 0;  ///< also every step that it divides; 0 = none
    std::optional<int64_t> best = {};
    std::optional<int64_t> healthy = {};  ///< newest that finite steps followed
  };
  /// Removes the folders of steps that `retention` does not keep, but never the newest that
  /// verifies, and what an earlier call failed to remove. Throws Error(kIo) and removes no more if
  /// a step cannot be read or a sync fails.
  void retain(const Retention& retention);

  /// Returns the steps with a folder, ascending, without a look inside.
  std::vector<int64_t> steps() const;
  /// Returns the step that `latest` points at, if the link is well-formed and the step is there.
  std::optional<int64_t> latest() const;
  /// True if `latest` is there but no step is, so checkpoints were lost.
  bool has_lost_all() const;
  /// Returns the name of a step's folder, "step00001200".
  static std::string folder_of(int64_t step);
  /// Returns the step of a folder `name` of exactly that form: 1200 for "step00001200".
  static std::optional<int64_t> step_in(std::string_view name);

  /// Reads, checks and returns a step's manifest. With `whole`, also checks every block of every
  /// file. Throws Error(kInput) naming file and block; Error(kNoCheckpoint) if a newer release
  /// wrote it; Error(kIo) if it cannot be read, which says nothing of its content.
  Manifest verify(int64_t step, bool whole) const;
  /// Opens the folder of a step. Throws Error(kInput) if there is none, else Error(kIo).
  OpenFile open_step(int64_t step) const;
  /// Returns the most bytes that a step's manifest may have, by the files beside it.
  int64_t manifest_bytes_most(int64_t step) const;
  /// Reads only the manifest of `step` from its open folder `folder`, a descriptor. Throws as
  /// verify().
  Manifest read_manifest(int folder, int64_t step) const;

  /// An entry of the folder that is not a checkpoint: an unfinished save or removal, a lock, a
  /// folder set aside, or a foreign file.
  struct Leftover {
    std::string name;
    std::string what, remedy;  ///< texts for people
  };
  /// Returns the leftovers, sorted by name.
  std::vector<Leftover> leftovers() const;

  /// Returns the count of bytes that the file system of this folder lets an unprivileged user still
  /// write.
  int64_t free_bytes() const;

  const std::string& root() const { return options_.root; }
  /// Returns and clears the warnings: removals and permissions that failed without an error.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  std::string path(const std::string& name) const { return options_.root + "/" + name; }
  std::vector<std::string> names() const;
  std::string make_temporary(const std::string& name) const;
  bool holds_manifest(const std::string& name) const;
  void make_root();
  void open_root();
  void collect();
  void finish_publishing();
  bool is_folder(const std::string& name) const;
  bool is_empty_folder(const std::string& name) const;
  bool verifies(int64_t step, bool whole) const;
  void open_up(const std::string& temporary) const;
  void take_back(const std::string& temporary, int64_t step, std::optional<int64_t> before);
  void warn_of(const std::string& name);
  void warn_of_remains(const std::string& problem);
  void point_latest_at(int64_t step);
  void link_latest_to(int64_t step);
  void sync_root() const;
  void remove_step(int64_t step);
  void finish_removing();
  void remove_now_or_later(const std::string& name);
  std::string remove(const std::string& name) const;

  Options options_;
  OpenFile root_;
  LockFile lock_;
  std::vector<std::string> warnings_;
};

}  // namespace zero::checkpoint
