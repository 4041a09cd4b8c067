#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "tests/support/file_calls.hpp"

namespace zero::testing_support {

FileCallPlan file_call_plan;
int failing_fsync = 0;
int repeated_fsyncs = 0;
bool without_noreplace = false;
RefusedOpen refused_open;
int failing_fallocate = 0;

namespace {

int failed_fsync = -1;

/// The result of a call, unless its turn has come.
long called(long number, long a, long b, long c = 0, long d = 0, long e = 0) {
  FileCallPlan& plan = file_call_plan;
  if (plan.call > 0 && --plan.call == 0) {
    if (plan.error == 0) _exit(plan.status);
    errno = plan.error;
    return -1;
  }
  return syscall(number, a, b, c, d, e);
}

long address(const void* pointer) { return reinterpret_cast<long>(pointer); }

/// All of a flag's bits: O_TMPFILE holds those of O_DIRECTORY.
bool is_refused(std::string_view path, int flags) {
  const int refused = refused_open.flags;
  return refused != 0 && (flags & refused) == refused && path.starts_with(refused_open.folder);
}

}  // namespace
}  // namespace zero::testing_support

// Named as the library names them.
using namespace zero::testing_support;
extern "C" {

int fsync(int file) {
  if (file == failed_fsync) ++repeated_fsyncs;
  const bool fails = failing_fsync > 0 && --failing_fsync == 0;
  if (fails) errno = EIO;
  const int status = fails ? -1 : int(called(SYS_fsync, file, 0));
  failed_fsync = status != 0 ? file : failed_fsync;
  return status;
}
int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = makes ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (is_refused(path, flags)) {
    errno = refused_open.error;
    return -1;
  }
  return int(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  if (failing_fallocate != 0) {
    errno = failing_fallocate;
    return -1;
  }
  return int(syscall(SYS_fallocate, file, mode, offset, bytes));
}
int close(int file) {
  if (file == failed_fsync) failed_fsync = -1;
  return int(syscall(SYS_close, file));
}
ssize_t write(int file, const void* from, size_t bytes) {
  // What is said on the console is no part of it.
  if (file <= 2) return syscall(SYS_write, file, from, bytes);
  return called(SYS_write, file, address(from), long(bytes));
}
ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  return called(SYS_pwrite64, file, address(from), long(bytes), offset);
}
ssize_t pwrite64(int file, const void* from, size_t bytes, off64_t offset) {
  return pwrite(file, from, bytes, offset);
}
int ftruncate(int file, off_t bytes) noexcept { return int(called(SYS_ftruncate, file, bytes)); }
int ftruncate64(int file, off64_t bytes) noexcept { return ftruncate(file, bytes); }
int mkdir(const char* path, mode_t mode) noexcept {
  return int(called(SYS_mkdirat, AT_FDCWD, address(path), long(mode)));
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return int(called(SYS_mkdirat, folder, address(path), long(mode)));
}
int symlinkat(const char* target, int folder, const char* path) noexcept {
  return int(called(SYS_symlinkat, address(target), folder, address(path)));
}
int renameat(int a, const char* from, int b, const char* to) noexcept {
  return int(called(SYS_renameat2, a, address(from), b, address(to), 0));
}
int rename(const char* from, const char* to) noexcept {
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) noexcept {
  if (without_noreplace && flags != 0) {
    errno = EINVAL;
    return -1;
  }
  return int(called(SYS_renameat2, a, address(from), b, address(to), long(flags)));
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  return int(called(SYS_unlinkat, folder, address(path), flags));
}
int unlink(const char* path) noexcept { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) noexcept { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

}  // extern "C"
