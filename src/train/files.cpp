#include "zero/train/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "zero/base/error.hpp"

namespace zero::train {

void occupy_standard_files() {
  // The lowest free descriptor is taken, so what is closed is filled from below.
  int file = 0;
  while (file >= 0 && file <= 2) file = open("/dev/null", O_RDONLY);
  if (file > 2) close(file);
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, std::string_view content) {
  const std::string next = path + ".tmp";
  int reason = 0;
  {
    const OpenFile file(open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    reason = file ? write_all(file, content) : errno;
  }
  if (reason == 0 && std::rename(next.c_str(), path.c_str()) != 0) reason = errno;
  if (reason == 0) return;
  unlink(next.c_str());
  refuse(Exit::kIo, path, ": could not be written: ", std::strerror(reason));
}

}  // namespace zero::train
