#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "zero/io/files/open_file.hpp"

namespace zero {

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

}  // namespace zero
