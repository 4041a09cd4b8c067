#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "zero/io/files/open_file.hpp"

namespace zero {

/// A regular file, read by pread. It is never mapped, because a mapped file that shrinks causes a
/// signal instead of an error. Threads may read it at once. Reading allocates nothing.
class InputFile {
 public:
  /// Opens the file `path`. Throws Error(kInput) naming the file and the reason.
  explicit InputFile(const std::string& path);
  /// Takes a file that is open for reading; `path` is for messages. Throws as above.
  InputFile(OpenFile file, const std::string& path);

  const std::string& path() const { return path_; }
  /// Returns the file's size in bytes when it was opened.
  int64_t bytes() const { return bytes_; }

  /// Fills `out` with the file's bytes from `offset` on. Throws Error(kInput) if the file ends
  /// before, Error(kIo) if it cannot be read. Both name file and offset.
  void read(int64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  OpenFile file_;
  int64_t bytes_ = 0;
};

/// Returns the bytes of a whole file. Throws Error(kInput) if it has more than `limit` bytes.
std::string read_whole(const InputFile& file, int64_t limit);
std::string read_whole(const std::string& path, int64_t limit);

}  // namespace zero
