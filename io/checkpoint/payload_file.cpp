#include "io/checkpoint/payload_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "zero/base/error.hpp"
#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {
namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

void PayloadFile::begin_payload(int64_t bytes) {
  // Pages that HDF5 has left in the cache would have to reach the disk before their neighbours.
  if (ftruncate(descriptor(), 0) != 0) {
    refuse(Exit::kIo, path(), ": ", std::strerror(errno), " emptying the file");
  }
  allocate(bytes);
  if (bytes < kDigestBlockBytes || !goes_past_page_cache()) use_page_cache();
}

void PayloadFile::allocate(int64_t bytes) {
  int status = 0;
  do {
    status = fallocate(descriptor(), 0, 0, off_t(bytes));
  } while (status != 0 && errno == EINTR);
  if (status == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return;
  refuse(Exit::kIo, path(), ": ", std::strerror(errno), " setting ", bytes, " bytes aside");
}

/// Some file systems say that they cannot only when it is tried.
bool PayloadFile::goes_past_page_cache() {
  const int flags = fcntl(descriptor(), F_GETFL);
  if (flags < 0 || fcntl(descriptor(), F_SETFL, flags | O_DIRECT) != 0) return false;
  alignas(kPageBytes) static constexpr std::byte kPage[kPageBytes] = {};
  ssize_t wrote = 0;
  do {
    wrote = pwrite(descriptor(), kPage, kPageBytes, 0);
  } while (wrote < 0 && errno == EINTR);
  if (wrote < 0 && errno != EINVAL) {
    refuse(Exit::kIo, path(), ": ", std::strerror(errno), " writing its first page");
  }
  return wrote == ssize_t(kPageBytes);
}

void PayloadFile::use_page_cache() {
  const int flags = fcntl(descriptor(), F_GETFL);
  if (flags < 0 || fcntl(descriptor(), F_SETFL, flags & ~O_DIRECT) != 0) {
    refuse(Exit::kIo, path(), ": ", std::strerror(errno), " turning to the page cache");
  }
}

}  // namespace zero::checkpoint
