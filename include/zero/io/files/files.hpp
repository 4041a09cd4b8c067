#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zero {

/// An owned file descriptor, closed on destruction. Empty if negative.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~OpenFile();

  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// Writes all of `content` at the file's position. Returns 0 or the errno of the failure.
int write_all(const OpenFile& file, std::string_view content);

/// A regular file, read by pread. It is never mapped, because a mapped file that shrinks causes a
/// signal instead of an error. Threads may read it at once. Reading allocates nothing.
class InputFile {
 public:
  /// Opens the file. Throws Error(kInput) naming the file and the reason.
  explicit InputFile(const std::string& path);
  /// Takes a file that is open for reading; `path` is for messages. Throws as above.
  InputFile(OpenFile file, const std::string& path);

  const std::string& path() const { return path_; }
  /// Returns the size when the file was opened.
  int64_t bytes() const { return bytes_; }

  /// Fills `out` from `offset` on. Throws Error(kInput) if the file ends before, Error(kIo) if it
  /// cannot be read. Both name file and offset.
  void read(int64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  OpenFile file_;
  int64_t bytes_ = 0;
};

/// Returns a whole file. Throws Error(kInput) if it has more than `limit` bytes.
std::string read_whole(const InputFile& file, int64_t limit);
std::string read_whole(const std::string& path, int64_t limit);

/// A new file that gets its name only when it is whole and on disk. Until then its path is
/// <path>.tmp-<process>, or that with -<n> if a killed process left the first. The destructor
/// removes a file without its name.
class OutputFile {
 public:
  /// Creates the temporary file. Throws Error(kIo) if `path` exists or the file cannot be made.
  explicit OutputFile(const std::string& path);
  /// Creates <path>.tmp-<process>.<first>. The name says that the file begins with line `first`,
  /// for a process that continues a killed one's work.
  OutputFile(const std::string& path, int64_t first);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }

  /// Appends bytes. Throws Error(kIo) naming file, offset and reason, such as a full disk. Then the
  /// file keeps none of `bytes`.
  void write(std::span<const std::byte> bytes);
  void write(const std::string& text) { write(std::as_bytes(std::span(text))); }

  /// Syncs the file, gives it its name and syncs the folder. Throws Error(kIo), also if the name
  /// was taken meanwhile. Nothing is ever overwritten.
  void publish();

  /// Closes the file without its name and returns the temporary path, where the bytes stay.
  std::string leave();

 private:
  std::string path_, temporary_;
  int file_ = -1;
  int64_t written_ = 0;
};

/// Returns the files that ended processes left of an OutputFile of this path, ascending. Lists only
/// files that it can lock. Where locks do not reach other nodes, files of processes that live there
/// are included.
std::vector<std::string> left_files(const std::string& path);

/// Returns the first line number in the name of a file of left_files(), or 1 without one.
int64_t first_line_of(const std::string& left);

/// Renames a file or folder to a free name and syncs the folder around it. Throws Error(kIo) if the
/// name is taken. Without RENAME_NOREPLACE, a killed process may leave an empty folder of the new
/// name.
void rename_new(const std::string& from, const std::string& to);

/// Functions for the program's own files in a folder that others can write to. They follow no link
/// and never block on a pipe.

/// Opens a regular file with the flags of open(). Throws Error(kIo), which says what has the name,
/// if that is not a regular file or cannot be opened.
OpenFile open_own(const std::string& path, int flags);

/// Creates a temporary file that the caller soon renames or removes. First removes what has the
/// name, unless it is a folder. REQUIRES: no other process uses the name. Returns an empty
/// OpenFile, with errno, on failure.
OpenFile make_own(const std::string& path);

/// True if the file is on disk, or if its file system has no disk. Else errno has the reason.
bool sync_file(const OpenFile& file);

/// Returns the content of a regular file of at most `most` bytes. Returns none if the file is
/// missing, not regular or longer.
std::optional<std::string> own_text(const std::string& path, int64_t most);

/// Returns the size of an open file in bytes. Never blocks.
int64_t bytes_of(const OpenFile& file);

/// Sets the permissions (0 to 0777) of an open file or folder, whatever the umask, and keeps bits
/// above them. Returns "" or the reason for a failure: "is another user's".
std::string give_permissions(int descriptor, int permissions);

/// True if an open file or folder has all of these permissions.
bool allows(int descriptor, int permissions);

/// Returns permissions in octal: "0750".
std::string permissions_text(int permissions);

/// A new folder that gets its name only when it is whole. Until then its path is
/// <path>.tmp-<process>, which the destructor removes. Making the same folder again removes what a
/// killed process left. A lock on the folder shows whether its process lives, because the lock ends
/// with the process. The process number does not, because another process may have it by then.
class NewFolder {
 public:
  /// Creates the temporary folder. Throws Error(kIo) if `path` exists or the folder cannot be made.
  explicit NewFolder(const std::string& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Returns the folder's path before publish().
  const std::string& temporary() const { return temporary_; }
  std::string file(const std::string& name) const { return temporary_ + "/" + name; }

  /// Gives the folder its name. Throws Error(kIo), also if the name was taken meanwhile. Nothing is
  /// ever overwritten.
  void publish();

 private:
  bool take();

  std::string path_, temporary_;
  OpenFile lock_;
  bool is_published_ = false;
};

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
  /// Takes the lock. Throws Error(kInUse) naming the holder's host and process, or Error(kIo) with
  /// the path and the reason.
  LockFile(const std::string& path, const Words& words);
  ~LockFile();
  LockFile(LockFile&&) = default;
  LockFile& operator=(LockFile&&) = default;

 private:
  OpenFile file_;
};

/// Removes a lock file that no process holds. A held one stays.
void remove_lock_file(const std::string& path);

/// The text of a lock file, "host n2 process 17", and a flag whether that process may live. Any
/// process on another host may.
struct LockHolder {
  std::string words;
  bool may_live = true;
};
/// Returns the holder, and none after a clean end or without a file. Takes no lock.
std::optional<LockHolder> lock_holder(const std::string& path);

}  // namespace zero
