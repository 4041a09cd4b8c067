#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/text/bpe_files.hpp"

namespace zero::testing_support {

/// A folder with vocab.json and merges.txt that goes away with the object. The id of a byte is the
/// byte; the result of merge i is 256 + i, and the entries of `more` follow.
class BpeFolder {
 public:
  explicit BpeFolder(const std::vector<std::pair<std::string, std::string>>& merges,
                     const std::vector<std::string>& more = {})
      : path_(
            (std::filesystem::temp_directory_path() / ("zero-test-bpe-" + std::to_string(getpid())))
                .string()) {
    std::filesystem::create_directories(path_);
    std::string lines = "#version: 0.2\n";
    nlohmann::json ids;
    for (int byte = 0; byte < 256; ++byte) ids[bpe_symbol(uint8_t(byte))] = byte;
    for (const auto& [left, right] : merges) {
      ids[left + right] = ids.size();
      lines += left + " " + right + "\n";
    }
    for (const std::string& entry : more) ids[entry] = ids.size();
    write("vocab.json", ids.dump());
    write("merges.txt", lines);
  }
  ~BpeFolder() { std::filesystem::remove_all(path_); }
  BpeFolder(const BpeFolder&) = delete;
  BpeFolder& operator=(const BpeFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary | std::ios::trunc) << content;
  }

 private:
  std::string path_;
};

}  // namespace zero::testing_support
