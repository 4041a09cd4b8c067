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

/// A file descriptor that closes itself; a negative one is none.
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

/// Writes everything at the file's position. 0, or the errno of what went wrong.
int write_all(const OpenFile& file, std::string_view content);

/// A regular file, read by pread and never mapped, so that one that shrinks is an error and not a
/// signal. Reading is safe from several threads at once and allocates nothing.
class InputFile {
 public:
  /// Throws Error(kInput) naming the file and the reason.
  explicit InputFile(const std::string& path);
  /// One that is open for reading; `path` is for messages.
  InputFile(OpenFile file, const std::string& path);

  const std::string& path() const { return path_; }
  /// When it was opened.
  int64_t bytes() const { return bytes_; }

  /// Fills `out` from `offset` on. Throws Error(kInput) if the file ends before, Error(kIo) if it
  /// cannot be read; both name file and offset.
  void read(int64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  OpenFile file_;
  int64_t bytes_ = 0;
};

/// The whole of a file of at most `limit` bytes; Error(kInput) if it is larger.
std::string read_whole(const InputFile& file, int64_t limit);
std::string read_whole(const std::string& path, int64_t limit);

/// A new file that appears under its name only when it is whole and on the disk. Until then it is
/// <path>.tmp-<process>, or -<n> behind that where a killed process has left one, and goes away
/// with the object.
class OutputFile {
 public:
  /// Throws Error(kIo) if something has the name already, or if the file cannot be made.
  explicit OutputFile(const std::string& path);
  /// Makes a file whose temporary name says that it begins with line `first` of something:
  /// <path>.tmp-<process>.<first>, for who goes on behind a killed process.
  OutputFile(const std::string& path, int64_t first);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }

  /// Appends. Throws Error(kIo) naming file, offset and reason, such as a full disk; then none of
  /// `bytes` stays in the file.
  void write(std::span<const std::byte> bytes);
  void write(const std::string& text) { write(std::as_bytes(std::span(text))); }

  /// Syncs the file, gives it its name and syncs the folder. Throws Error(kIo), also if something
  /// has taken the name meanwhile: nothing is ever overwritten.
  void publish();

  /// Ends without the name: what has been written stays in the file that it returns.
  std::string leave();

 private:
  std::string path_, temporary_;
  int file_ = -1;
  int64_t written_ = 0;
};

/// Returns what processes that have ended have left of an OutputFile of this path, ascending. Where
/// a file system knows no locks, a file of a process that lives is among them.
std::vector<std::string> left_files(const std::string& path);

/// Returns the line that a file of left_files() begins with by its name; 1 if the name says none.
int64_t first_line_of(const std::string& left);

/// Renames a file or folder to a name that nothing has, and syncs the folder around it. Throws
/// Error(kIo) if the name is taken. Where a file system does not know RENAME_NOREPLACE, a process
/// that is killed may leave an empty folder of the new name.
void rename_new(const std::string& from, const std::string& to);

/// Files that a program keeps in a folder where anything may lie under their names: a link, which
/// leads elsewhere, or a pipe, at which open() waits for ever. Neither is followed or waited for.

/// Opens a regular file with the flags of open(). Throws Error(kIo) that says what lies there
/// instead, and where it cannot be opened.
OpenFile open_own(const std::string& path, int flags);

/// Makes a temporary file, to be renamed or removed soon. What has its name goes first, unless it
/// is a folder: no one else may use that name. None, with errno, where it cannot be made.
OpenFile make_own(const std::string& path);

/// True if all of the file has reached the disk, if the file has one; else errno says why.
bool sync_file(const OpenFile& file);

/// The whole of a regular file of at most `most` bytes; none where it is not there, something else,
/// or longer.
std::optional<std::string> own_text(const std::string& path, int64_t most);

/// Bytes of an open file, for which a look never waits.
int64_t bytes_of(const OpenFile& file);

/// Gives an open file or folder these permissions (0 to 0777), whatever the umask; bits above them
/// stay. "" or why it has others now: "is another user's".
std::string give_permissions(int descriptor, int permissions);

/// True if an open file or folder has all of these.
bool allows(int descriptor, int permissions);

/// "0750"
std::string permissions_text(int permissions);

/// A new folder that appears under its name only when it is whole. Until then it is
/// <path>.tmp-<process>, which goes away with the object. What a killed process has left goes when
/// the same folder is made again. A lock on it ends with its process and so tells whether that one
/// lives; its number does not, as another process may have it by then.
class NewFolder {
 public:
  /// Throws Error(kIo) if something has the name already, or if the folder cannot be made.
  explicit NewFolder(const std::string& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Returns its path until it has its name.
  const std::string& temporary() const { return temporary_; }
  std::string file(const std::string& name) const { return temporary_ + "/" + name; }

  /// Gives it its name. Throws Error(kIo), also if something has taken the name meanwhile: nothing
  /// is ever overwritten.
  void publish();

 private:
  bool take();

  std::string path_, temporary_;
  OpenFile lock_;
  bool is_published_ = false;
};

/// Keeps a folder to one process: a lock on a file in it, which names its holder as "host n2
/// process 17". A lock ends with its process, however that ended; where a file system knows no
/// locks, the file's word counts. A clean end leaves the file empty.
class LockFile {
 public:
  /// The words of a refusal: "<what> is in use by <holder> - wait for it, or <remedy>".
  struct Words {
    std::string what;    ///< "run.output: runs/a"
    std::string remedy;  ///< "write another run.output"
    /// The file has these, whatever the umask, where this user owns it; none: 0644 as the umask
    /// has.
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

/// Removes the file of a lock that nobody holds. One that is held stays.
void remove_lock_file(const std::string& path);

/// The words of a lock's file, "host n2 process 17", and whether that process may live: of
/// another host nothing is known.
struct LockHolder {
  std::string words;
  bool may_live = true;
};
/// None after a clean end, and where there is no such file. Takes no lock.
std::optional<LockHolder> lock_holder(const std::string& path);

}  // namespace zero
