#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"
#include "zero/io/files/files.hpp"

namespace zero::checkpoint {

/// A folder of checkpoints: step%08d folders, `latest` (a relative link to one), LOCK, and what is
/// under way or being removed. The functions are one process's part of the protocol; who calls what
/// when is save/checkpointer's. Every file system result is looked at; a failed fsync is never
/// repeated.
class Store {
 public:
  /// Where `writes`, makes the folder, takes its lock, gives both `permissions` (to a folder that
  /// was there if it is this user's and holds nothing else; else it warns), and then mends what a
  /// killed process left. What is half-made or half-removed goes, as do empty folders with a step's
  /// name. `latest` is moved on to a newer step that was whole but not yet pointed at and that
  /// verifies. Throws Error(kInUse) with the holder's host and pid, Error(kIo).
  struct Options {
    std::string root;
    bool writes = false;
    int permissions = 0700;
  };
  explicit Store(const Options& options);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Makes the temporary folder of a step and returns its name, ".tmp-step00001200-<128-bit id>".
  /// By one rank. A folder of that step that does not verify is moved to
  /// "damaged-step00001200-<id>" and kept; one that does is Error(kIo): a step is never
  /// overwritten. Where it cannot be read, Error(kIo), and it stays.
  std::string begin(int64_t step);

  /// Makes a temporary folder that no step comes of, and returns its name: where every rank tries
  /// with try_folder() whether it sees the same files. By one rank, which abandons it.
  std::string begin_trial();
  /// Makes, syncs and removes a file there, named after the rank. Throws Error(kIo).
  void try_folder(const std::string& trial, int rank) const;

  /// The folder's descriptor, to be closed by the caller (O_DIRECTORY, O_NOFOLLOW). By every rank.
  /// Throws Error(kIo).
  int open_folder(const std::string& name) const;
  /// Syncs an open folder once; `name` is for messages. By every rank, when its file is written.
  static void sync_folder(int folder, const std::string& name);

  /// Writes and syncs the manifest into the temporary folder. By one rank, when all files are
  /// written. Throws Error(kIo), also where it is longer than what is read.
  void write_manifest(const std::string& temporary, const Manifest& manifest);

  /// Renames the temporary folder to its final name, moves `latest`, syncs. By one rank, after
  /// every rank has synced the folder. The checkpoint is acknowledged when it returns; when it
  /// throws, the folder has its temporary name and `latest` points where it did.
  void publish(const std::string& temporary, int64_t step);

  /// Removes a temporary folder after a failure on any rank; errors are returned, not thrown.
  std::string abandon(const std::string& temporary);

  struct Retention {
    int64_t keep = 2;        ///< the newest ones; at least 2, 0 = all
    int64_t keep_every = 0;  ///< and every step that it divides; 0 = none
    std::optional<int64_t> best = {};
    std::optional<int64_t> healthy = {};  ///< the newest from which steps were finite
  };
  /// Removes what need not be kept, never the newest that verifies, and what an earlier call could
  /// not remove. Throws Error(kIo) where none may be removed, as one could not be read or a sync
  /// has failed.
  void retain(const Retention& retention);

  /// Steps with a folder, ascending; nothing is said about what is in them.
  std::vector<int64_t> steps() const;
  /// The step that `latest` points at, if it is well-formed and there.
  std::optional<int64_t> latest() const;
  /// Whether `latest` is there, and no step: checkpoints that were here have gone.
  bool has_lost_all() const;
  /// Name of a step's folder, "step00001200".
  static std::string folder_of(int64_t step);

  /// Reads and checks the manifest of a step; with `whole` every block of every file too. Throws
  /// Error(kInput) naming file and block, Error(kNoCheckpoint) where a newer release wrote it, and
  /// Error(kIo) where it could not be read, which says nothing of what it holds.
  Manifest verify(int64_t step, bool whole) const;
  /// The folder of a step. Throws Error(kInput) where there is no such folder, else Error(kIo).
  OpenFile open_step(int64_t step) const;
  /// The manifest alone, out of the open folder of a step. Throws as verify().
  int64_t manifest_bytes_most(int64_t step) const;
  Manifest read_manifest(int folder, int64_t step) const;

  /// What lies here and is no checkpoint, by name: what a save or a removal left that did not end
  /// or is under way, locks, what was set aside, what is not ours.
  struct Leftover {
    std::string name;
    std::string what, remedy;  ///< in words
  };
  std::vector<Leftover> leftovers() const;

  /// What its file system would let a user without privileges still write.
  int64_t free_bytes() const;

  const std::string& root() const { return options_.root; }
  /// What did not succeed since it was last asked and is no error, in words: removals, permissions.
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
