#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero {

/// A folder for the files of a fuzz target, which goes away with the program.
class FuzzedFolder {
 public:
  FuzzedFolder() { ZERO_REQUIRE(mkdtemp(path_) != nullptr, "no folder in /tmp"); }
  ~FuzzedFolder() {
    for (const std::string& name : names_) unlink(file(name).c_str());
    rmdir(path_);
  }
  FuzzedFolder(const FuzzedFolder&) = delete;
  FuzzedFolder& operator=(const FuzzedFolder&) = delete;

  std::string path() const { return path_; }
  std::string file(const std::string& name) const { return path() + "/" + name; }
  void put(const std::string& name, std::string_view content) {
    const OpenFile out(open(file(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    ZERO_REQUIRE(out && write_all(out, content) == 0, "cannot write ", name);
    names_.insert(name);
  }

 private:
  char path_[32] = "/tmp/fuzz-files-XXXXXX";
  std::set<std::string> names_;
};

/// Calls check() with the bytes and a folder for all calls of a target.
template <class Check>
int check_in_folder(const Check& check, const uint8_t* data, size_t size) {
  static FuzzedFolder folder;
  check(folder, std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

}  // namespace zero
