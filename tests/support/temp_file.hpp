#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace zero::testing_support {

/// A file that goes away with the object, named after the process so that ranks do not meet.
class TempFile {
 public:
  TempFile(const std::string& name, std::string_view content)
      : path_((std::filesystem::temp_directory_path() /
               ("zero-test-" + std::to_string(getpid()) + "-" + name))
                  .string()) {
    write(content);
  }
  ~TempFile() { std::filesystem::remove(path_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::string& path() const { return path_; }
  void write(std::string_view content) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
  }

 private:
  std::string path_;
};

}  // namespace zero::testing_support
