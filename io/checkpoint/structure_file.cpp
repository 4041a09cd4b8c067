#include "io/checkpoint/structure_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

std::string path_of(int folder, const std::string& name) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink(text("/proc/self/fd/", folder), error);
  return error ? name : (path / name).string();
}

}  // namespace

StructureFile::StructureFile(int folder, const std::string& name, int mode)
    : path_(path_of(folder, name)),
      file_(
          openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)) {
  if (!file_) refuse(Exit::kIo, path_, ": ", std::strerror(errno), " making the file");
}

int64_t StructureFile::bytes() const {
  struct stat status {};
  if (fstat(file_.descriptor(), &status) != 0) {
    refuse(Exit::kIo, path_, ": ", std::strerror(errno), " asking its length");
  }
  return int64_t(status.st_size);
}

void StructureFile::read(int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = pread(file_.descriptor(), out.data(), out.size(), off_t(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      refuse(Exit::kIo, path_, ": offset ", offset, ": ",
             got == 0 ? "the file ends here" : std::strerror(errno), " reading ", out.size(),
             " bytes of structure back");
    }
    out = out.subspan(size_t(got));
    offset += got;
  }
}

void StructureFile::sync() {
  if (fsync(file_.descriptor()) != 0) {
    refuse(Exit::kIo, path_, ": ", std::strerror(errno), " syncing the file");
  }
}

}  // namespace zero::checkpoint
