#include "io/files/permissions.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace zero {

std::string give_permissions(int descriptor, int permissions) {
  constexpr mode_t kPermissions = 0777;
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return std::strerror(errno);
  if ((status.st_mode & kPermissions) == mode_t(permissions)) return "";
  // Root may change them, too, but they are not its own.
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
