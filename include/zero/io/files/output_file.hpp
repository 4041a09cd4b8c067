#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zero {

/// A new file that gets its name only when it is whole and on disk. Until then its path is
/// <path>.tmp-<process>, or that with -<n> if a killed process left the first. The destructor
/// removes a file without its name.
class OutputFile {
 public:
  /// Creates the temporary file of a file `path`. Throws Error(kIo) if `path` exists or the file
  /// cannot be made.
  explicit OutputFile(const std::string& path);
  /// Creates <path>.tmp-<process>.<first>. The name says that the file begins with line `first`,
  /// for a process that continues a killed one's work.
  OutputFile(const std::string& path, int64_t first);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }

  /// Appends bytes to the file. Throws Error(kIo) naming file, offset and reason, such as a full
  /// disk. Then the file keeps none of `bytes`.
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

/// Returns the paths of the files that ended processes left of an OutputFile of `path`, ascending.
/// Lists only files that it can lock. Where locks do not reach other nodes, files of processes that
/// live there are included.
std::vector<std::string> left_files(const std::string& path);

/// Returns the number of the first line in the name `left`, a file of left_files(). 1 if the name
/// has none.
int64_t first_line_of(const std::string& left);

/// Renames the file or folder `from` to the free name `to` and syncs the folder around that. Throws
/// Error(kIo) if the name is taken. Without RENAME_NOREPLACE, a killed process may leave an empty
/// folder of the new name.
void rename_new(const std::string& from, const std::string& to);

}  // namespace zero
