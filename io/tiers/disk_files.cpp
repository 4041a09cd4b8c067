#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::tiers {
namespace {

std::string reason() { return text(std::strerror(errno), " (errno ", errno, ")"); }

void require_folder(const std::string& folder) {
  struct stat status {};
  if (folder.empty()) {
    refuse(Exit::kUsage, "nvme_path is \"\": write the folder of a local disk");
  }
  const bool there = stat(folder.c_str(), &status) == 0;
  if (there && S_ISDIR(status.st_mode)) return;
  const std::string why = there             ? "is no folder"
                          : errno == ENOENT ? "there is no such folder"
                                            : reason();
  refuse(Exit::kUsage, "nvme_path ", folder, ": ", why,
         "; make it, or write another: nothing is created by itself");
}

int64_t free_bytes(const std::string& folder) {
  struct statvfs status {};
  return statvfs(folder.c_str(), &status) == 0 ? int64_t(status.f_bavail) * int64_t(status.f_frsize)
                                               : -1;
}

/// Opens a file in a folder of its own and removes both names, for a file system without nameless
/// files.
int open_and_unlink(const std::string& folder, int flags) {
  std::string own = folder + "/zeroapp-XXXXXX";
  if (mkdtemp(own.data()) == nullptr) return -1;
  const std::string path = own + "/swap";
  const int file = open(path.c_str(), flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  const int error = errno;
  unlink(path.c_str());
  rmdir(own.c_str());
  errno = error;
  return file;
}

int open_nameless(const std::string& folder, int flags) {
  const int file = open(folder.c_str(), flags | O_TMPFILE, 0600);
  const bool unknown = errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT;
  return file < 0 && unknown ? open_and_unlink(folder, flags) : file;
}

/// True if the file system has allocated the bytes.
bool allocate(int file, const std::string& folder, int64_t bytes) {
  const int64_t free = free_bytes(folder);
  int status = 0;
  do {
    status = fallocate(file, 0, 0, bytes);
  } while (status != 0 && errno == EINTR);
  if (status == 0) return true;
  if (errno == ENOSPC || errno == EFBIG) {
    refuse(Exit::kIo, folder, ": ", bytes, " bytes are needed by this rank, ", free,
           " are free: ", reason());
  }
  if (errno != EOPNOTSUPP) refuse(Exit::kIo, folder, ": allocating ", bytes, " bytes: ", reason());
  if (free < bytes || ftruncate(file, bytes) != 0) {
    refuse(Exit::kIo, folder, ": ", bytes, " bytes are needed by this rank, ", free, " are free");
  }
  return false;
}

}  // namespace

int64_t free_bytes(const std::vector<std::string>& folders) {
  std::map<dev_t, int64_t> sharing;
  std::vector<dev_t> devices;
  for (const std::string& folder : folders) {
    require_folder(folder);
    struct stat status {};
    devices.push_back(stat(folder.c_str(), &status) == 0 ? status.st_dev : 0);
    ++sharing[devices.back()];
  }
  // All files have one size, so the fullest disk decides.
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < folders.size(); ++i) {
    least = std::min(least, std::max<int64_t>(0, free_bytes(folders[i])) / sharing[devices[i]]);
  }
  return least * int64_t(folders.size());
}

DiskFiles::DiskFiles(const DiskOptions& options)
    : bytes_(round_up(options.bytes, kDiskBlockBytes)),
      stripe_bytes_(round_up(std::max(kStripeBytes, options.block_bytes), kDiskBlockBytes)) {
  ZERO_REQUIRE(!options.folders.empty(), "files on disk need a folder");
  for (const std::string& folder : options.folders) require_folder(folder);
  const int64_t stripes = ceil_div(bytes_, stripe_bytes_);
  const int64_t each = ceil_div(stripes, int64_t(options.folders.size())) * stripe_bytes_;
  files_.reserve(options.folders.size());
  for (const std::string& folder : options.folders) {
    open_in(folder, options.folders.size() == 1 ? bytes_ : each);
  }
}

void DiskFiles::open_in(const std::string& folder, int64_t bytes) {
  OpenFile file(open_nameless(folder, O_RDWR | O_CLOEXEC | O_DIRECT));
  const bool direct = bool(file);
  if (!file && errno == EINVAL) file = OpenFile(open_nameless(folder, O_RDWR | O_CLOEXEC));
  if (!file) refuse(Exit::kIo, folder, ": a file cannot be made there: ", reason());
  if (bytes > 0 && !allocate(file.descriptor(), folder, bytes)) is_reserved_ = false;
  files_.push_back({.descriptor = file.descriptor(), .name = folder});
  open_.push_back(std::move(file));
  if (direct) ++direct_files_;
}

DiskFiles::FileRange DiskFiles::range_at(int64_t offset, int64_t bytes) const {
  ZERO_REQUIRE(offset >= 0 && bytes >= 0 && offset + bytes <= bytes_, "bytes [", offset, ", ",
               offset + bytes, ") of ", bytes_, " on disk");
  const int64_t folders = int64_t(files_.size());
  if (folders == 1) return {&files_[0], offset, bytes};
  const int64_t stripe = offset / stripe_bytes_, inside = offset % stripe_bytes_;
  return {.file = &files_[size_t(stripe % folders)],
          .offset = stripe / folders * stripe_bytes_ + inside,
          .bytes = std::min(stripe_bytes_ - inside, bytes)};
}

}  // namespace zero::tiers
