#pragma once

#include <string_view>
#include <utility>

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

/// Writes all of `content` at the position of `file`. Returns 0 or the errno of the failure.
int write_all(const OpenFile& file, std::string_view content);

}  // namespace zero
