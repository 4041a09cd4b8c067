#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace zero::testing_support {

/// A folder for files of a tokenizer, which goes away with the object. Its name is of the process,
/// so that ranks do not meet.
class TokenizerFolder {
 public:
  /// Empty, or with the files of `model`.
  explicit TokenizerFolder(const std::string& name, const std::filesystem::path& model = {})
      : path_((std::filesystem::temp_directory_path() /
               ("zero-test-" + std::to_string(getpid()) + "-" + name))
                  .string()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    if (!model.empty()) std::filesystem::copy(model, path_);
  }
  ~TokenizerFolder() { std::filesystem::remove_all(path_); }
  TokenizerFolder(const TokenizerFolder&) = delete;
  TokenizerFolder& operator=(const TokenizerFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary | std::ios::trunc) << content;
  }
  void remove(const std::string& name) const { std::filesystem::remove(path_ + "/" + name); }

 private:
  std::string path_;
};

}  // namespace zero::testing_support
