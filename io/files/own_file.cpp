#include "zero/io/files/own_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "zero/base/error.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero {
namespace {

constexpr int kSafely = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

bool is_regular(const OpenFile& file) {
  struct stat status {};
  return fstat(file.descriptor(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string reason_text(int reason) {
  if (reason == ELOOP) return "is a symbolic link, which is not followed";
  // ENXIO: a pipe or a socket that nobody reads.
  return reason == ENXIO ? "is no regular file" : std::strerror(reason);
}

}  // namespace

OpenFile open_own(const std::string& path, int flags) {
  OpenFile file(open(path.c_str(), flags | kSafely, 0644));
  if (!file) refuse(Exit::kIo, path, ": ", reason_text(errno), " - mend that, or move it away");
  if (!is_regular(file)) refuse(Exit::kIo, path, ": is no regular file - move it away");
  return file;
}

OpenFile make_own(const std::string& path) {
  const auto make = [&] {
    return OpenFile(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | kSafely, 0644));
  };
  OpenFile file = make();
  if (file || errno != EEXIST || unlink(path.c_str()) != 0) return file;
  return make();
}

bool sync_file(const OpenFile& file) {
  // EINVAL: this file system has no disk for a file.
  return fsync(file.descriptor()) == 0 || errno == EINVAL;
}

int replace_by(const std::string& next, const std::string& path, std::string_view content,
               const Replacement& how) {
  int reason = 0;
  {
    const OpenFile file = make_own(next);
    reason = file ? write_all(file, content) : errno;
    if (reason == 0 && how.permissions &&
        !give_permissions(file.descriptor(), how.permissions).empty())
      reason = EPERM;
    if (reason == 0 && how.syncs && !sync_file(file)) reason = errno;
  }
  if (reason == 0 && std::rename(next.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0 && reason != EISDIR) unlink(next.c_str());
  return reason;
}

void replace_own(const std::string& path, std::string_view content) {
  if (const int reason = replace_by(path + ".tmp", path, content, {}))
    refuse(Exit::kIo, path, ": could not be written: ", std::strerror(reason));
}

int64_t bytes_of(const OpenFile& file) {
  struct stat status {};
  return fstat(file.descriptor(), &status) == 0 ? int64_t(status.st_size) : 0;
}

std::optional<std::string> own_text(const std::string& path, int64_t most) {
  const OpenFile file(open(path.c_str(), O_RDONLY | kSafely));
  if (!file || !is_regular(file) || bytes_of(file) > most) return {};
  std::string content(size_t(bytes_of(file)), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got =
        pread(file.descriptor(), content.data() + done, content.size() - done, off_t(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += size_t(got);
  }
  content.resize(done);
  return content;
}

std::string give_permissions(int descriptor, int permissions) {
  constexpr mode_t kPermissions = 0777;
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return std::strerror(errno);
  if ((status.st_mode & kPermissions) == mode_t(permissions)) return "";
  // Root may change the permissions too, but the file is not its own.
  if (status.st_uid != geteuid()) return "is another user's";
  const mode_t others = status.st_mode & mode_t(07777) & ~kPermissions;
  return fchmod(descriptor, others | mode_t(permissions)) == 0 ? "" : std::strerror(errno);
}

bool allows(int descriptor, int permissions) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && (int(status.st_mode) & permissions) == permissions;
}

std::string permissions_text(int permissions) {
  char digits[8];
  std::snprintf(digits, sizeof digits, "%04o", unsigned(permissions) & 0777U);
  return digits;
}

}  // namespace zero
