#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_file.hpp"

namespace zero::testing_support {

/// A folder with files as a run leaves them, which goes away with the object.
class WrittenRun {
 public:
  explicit WrittenRun(const std::string& name) : path_(TempFile(name, "").path() + ".run") {
    std::filesystem::create_directories(path_);
  }
  ~WrittenRun() { std::filesystem::remove_all(path_); }
  WrittenRun(const WrittenRun&) = delete;
  WrittenRun& operator=(const WrittenRun&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary | std::ios::trunc) << content;
  }

 private:
  std::string path_;
};

}  // namespace zero::testing_support
