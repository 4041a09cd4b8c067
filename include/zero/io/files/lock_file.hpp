#pragma once

#include <optional>
#include <string>

#include "zero/io/files/open_file.hpp"

namespace zero {

/// Keeps a folder to one process: a lock on a file in it, which names its holder as "host n2
/// process 17". A lock ends with its process, however that ended; where a file system knows no
/// locks, the file's word counts. A clean end leaves the file empty.
class LockFile {
 public:
  /// How a refusal is worded: "<what> is in use by <holder> - wait for it, or <remedy>".
  struct Words {
    std::string what;    ///< "run.output: runs/a"
    std::string remedy;  ///< "write another run.output"
    /// Of the file, whatever the umask, where this user owns it; none: 0644 as the umask has it.
    std::optional<int> permissions = {};
  };

  LockFile() = default;
  /// Throws Error(kInUse) naming the holder's host and process, or Error(kIo) with the path and
  /// the reason.
  LockFile(const std::string& path, const Words& words);
  ~LockFile();
  LockFile(LockFile&&) = default;
  LockFile& operator=(LockFile&&) = default;

 private:
  OpenFile file_;
};

/// What the file of a lock says, "host n2 process 17", and whether that process may live: of
/// another host nothing is known.
struct LockHolder {
  std::string words;
  bool may_live = true;
};
/// None after a clean end, and where there is no such file. Takes no lock.
std::optional<LockHolder> lock_holder(const std::string& path);

}  // namespace zero
