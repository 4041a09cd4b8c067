#include "zero/io/files/open_file.hpp"

#include <unistd.h>

#include <cerrno>

namespace zero {

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

int write_all(const OpenFile& file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(file.descriptor(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    content.remove_prefix(size_t(written));
  }
  return 0;
}

}  // namespace zero
