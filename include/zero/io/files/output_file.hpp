#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace zero {

/// A new file that appears under its name only when it is whole and on the disk. Until then it is
/// <path>.tmp-<process>, which goes away with the object.
class OutputFile {
 public:
  /// Throws Error(kIo) if something has the name already, or if the file cannot be made.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }

  /// Appends. Throws Error(kIo) naming file, offset and reason, such as a full disk.
  void write(std::span<const std::byte> bytes);
  void write(const std::string& text) { write(std::as_bytes(std::span(text))); }

  /// Syncs the file, gives it its name and syncs the folder. Throws Error(kIo), also if something
  /// has taken the name meanwhile: nothing is ever overwritten.
  void publish();

 private:
  std::string path_, temporary_;
  int file_ = -1;
  int64_t written_ = 0;
};

/// Renames a file or folder to a name that nothing has, and syncs the folder around it. Throws
/// Error(kIo) if the name is taken. Where a file system does not know RENAME_NOREPLACE, a process
/// that is killed may leave an empty folder of the new name.
void rename_new(const std::string& from, const std::string& to);

}  // namespace zero
