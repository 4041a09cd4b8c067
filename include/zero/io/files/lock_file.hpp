#pragma once

#include <optional>
#include <string>

#include "zero/io/files/open_file.hpp"

namespace zero {

/// A lock that keeps a folder to one process. The locked file lies in the folder and names its
/// holder: "host n2 process 17". The lock ends with its process, however that ended. Without locks
/// in the file system, the file's text counts. A clean end empties the file.
class LockFile {
 public:
  /// The words of a refusal: "<what> is in use by <holder> - wait for it, or <remedy>".
  struct Words {
    std::string what;    ///< "run.output: runs/a"
    std::string remedy;  ///< "write another run.output"
    /// Permissions of the lock file, whatever the umask, if this user owns it. None: 0644 with the
    /// umask.
    std::optional<int> permissions = {};
  };

  LockFile() = default;
  /// Locks the file `path`, which it makes if there is none. Throws Error(kInUse) in these `words`,
  /// naming the holder's host and process, or Error(kIo) with the path and the reason.
  LockFile(const std::string& path, const Words& words);
  ~LockFile();
  LockFile(LockFile&&) = default;
  LockFile& operator=(LockFile&&) = default;

 private:
  OpenFile file_;
};

/// Removes the lock file `path` if no process holds it.
void remove_lock_file(const std::string& path);

/// The text of a lock file, "host n2 process 17", and a flag whether that process may live. Any
/// process on another host may.
struct LockHolder {
  std::string words;
  bool may_live = true;
};
/// Returns the holder of the lock file `path`. None after a clean end or without a file. Takes no
/// lock.
std::optional<LockHolder> lock_holder(const std::string& path);

}  // namespace zero
