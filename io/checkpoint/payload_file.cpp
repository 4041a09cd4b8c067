#include "io/checkpoint/payload_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

/// What most disks can begin to read memory at; all can at a page.
constexpr size_t kSectorBytes = 512;
/// Less is as fast through the page cache.
constexpr int64_t kDirectBytesMin = int64_t(1) << 20;

std::string path_of(int folder, const std::string& name) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink(text("/proc/self/fd/", folder), error);
  return error ? name : (path / name).string();
}

}  // namespace

PayloadFile::PayloadFile(int folder, const std::string& name, int mode)
    : path_(path_of(folder, name)),
      file_(openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                   mode)) {
  if (!file_) refuse(Exit::kIo, path_, ": ", std::strerror(errno), " making the file");
}

void PayloadFile::begin_payload(int64_t bytes) {
  allocate(bytes);
  if (bytes < kDirectBytesMin) return;
  is_direct_ = true;
  refuses_direct_ = !goes_past_page_cache();
  if (refuses_direct_) use_page_cache();
}

void PayloadFile::allocate(int64_t bytes) {
  int status = 0;
  do {
    status = fallocate(descriptor(), 0, 0, off_t(bytes));
  } while (status != 0 && errno == EINTR);
  if (status == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return;
  refuse(Exit::kIo, path_, ": ", std::strerror(errno), " setting ", bytes, " bytes aside");
}

/// Some file systems say that they cannot only when it is tried.
bool PayloadFile::goes_past_page_cache() {
  const int flags = fcntl(descriptor(), F_GETFL);
  if (flags < 0 || fcntl(descriptor(), F_SETFL, flags | O_DIRECT) != 0) return false;
  alignas(kPageBytes) static constexpr std::byte kPages[2 * kPageBytes] = {};
  for (const size_t alignment : {kSectorBytes, kPageBytes}) {
    memory_alignment_ = alignment;
    if (takes_page(kPages + alignment)) return true;
  }
  return false;
}

/// As the first one of the file.
bool PayloadFile::takes_page(const std::byte* page) const {
  ssize_t wrote = 0;
  do {
    wrote = pwrite(descriptor(), page, kPageBytes, 0);
  } while (wrote < 0 && errno == EINTR);
  if (wrote < 0 && errno != EINVAL) {
    refuse(Exit::kIo, path_, ": ", std::strerror(errno), " writing its first page");
  }
  return wrote == ssize_t(kPageBytes);
}

void PayloadFile::use_page_cache() {
  if (!is_direct_) return;
  const int flags = fcntl(descriptor(), F_GETFL);
  if (flags < 0 || fcntl(descriptor(), F_SETFL, flags & ~O_DIRECT) != 0) {
    refuse(Exit::kIo, path_, ": ", std::strerror(errno), " turning to the page cache");
  }
  is_direct_ = false;
  memory_alignment_ = 1;
}

void PayloadFile::write(std::span<const std::byte> bytes) const {
  const int reason = write_all(file_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (reason != 0) refuse(Exit::kIo, path_, ": ", std::strerror(reason), " writing it");
}

void PayloadFile::sync() {
  if (fsync(descriptor()) != 0) {
    refuse(Exit::kIo, path_, ": ", std::strerror(errno), " syncing the file");
  }
}

}  // namespace zero::checkpoint
