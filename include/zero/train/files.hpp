#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace zero::train {

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

/// Makes 0, 1 and 2 be open: a file that took the place of a closed console would receive what is
/// said to it. Writing to what takes that place here fails, as it would to a closed one.
void occupy_standard_files();

/// The whole file; "" where it cannot be read.
std::string file_text(const std::string& path);

/// Writes everything at the file's position. 0, or the errno of what went wrong.
int write_all(const OpenFile& file, std::string_view content);

/// Gives the file this content; whoever reads it finds the old or the new one. Throws Error(kIo)
/// with path and reason.
void write_file(const std::string& path, std::string_view content);

}  // namespace zero::train
