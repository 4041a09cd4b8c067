/// A library to be loaded ahead of the program (LD_PRELOAD): something happens at one of the calls
/// by which a rank changes files, in a folder and from a moment on. What and where is in the
/// environment:
///   FAULT_RANK     the rank that it happens to; the others count nothing
///   FAULT_UNDER    only calls about paths that hold this text count
///   FAULT_FROM     counting begins with the first call whose path holds this text
///   FAULT_ONLY     only calls of this name count
///   FAULT_CALL     which of them it happens to, from 1 on; 0: none
///   FAULT_ACTION   kill | stop | an errno | -S, which sleeps S seconds and then goes on
///   FAULT_REPEATS  1: to all later ones too
///   FAULT_LOG      gets a line for each call that counts: its number, name and path
///   FAULT_NO_URING 1: the kernel knows no io_uring, so that all writes are calls
///   FAULT_NO_NOREPLACE 1: no file system knows RENAME_NOREPLACE
///   FAULT_NO_DIRECT 1: no file system can write past the page cache, and says so when it is tried
///   FAULT_FREE     bytes that file systems say are free

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace {

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_this_rank() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return std::strcmp(rank ? rank : "0", setting("FAULT_RANK")) == 0;
}

/// What the call is about: "folder/name", or what a descriptor was opened as.
struct Path {
  char text[2 * PATH_MAX] = "";

  Path(int file, const char* name = "") {
    if (name[0] == '/') {
      snprintf(text, sizeof text, "%s", name);
      return;
    }
    char link[64], folder[PATH_MAX] = "";
    snprintf(link, sizeof link, file == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", file);
    syscall(SYS_readlinkat, AT_FDCWD, link, folder, sizeof folder - 1);
    snprintf(text, sizeof text, name[0] ? "%s/%s" : "%s%s", folder, name);
  }
  bool holds(const char* part) const { return std::strstr(text, part) != nullptr; }
};

std::atomic<bool> counting{false};
std::atomic<int> calls{0};
std::atomic<int> failed_fsync{-1};

void log_line(int number, const char* name, const char* path) {
  const char* log = setting("FAULT_LOG");
  if (!log[0]) return;
  const long file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  char line[3 * PATH_MAX];
  const int length = snprintf(line, sizeof line, "%d %s %s\n", number, name, path);
  syscall(SYS_write, file, line, length);
  syscall(SYS_close, file);
}

/// The number of the call, or 0 if it does not count.
int number_of(const char* name, const Path& path) {
  if (!is_this_rank() || !path.holds(setting("FAULT_UNDER"))) return 0;
  if (path.holds(setting("FAULT_FROM"))) counting = true;
  const char* only = setting("FAULT_ONLY");
  if (!counting || (only[0] && std::strcmp(only, name) != 0)) return 0;
  const int number = ++calls;
  log_line(number, name, path.text);
  return number;
}

/// 0, or the errno that the call fails with.
int fault(const char* name, const Path& path) {
  const int number = number_of(name, path), wanted = std::atoi(setting("FAULT_CALL"));
  const bool repeats = setting("FAULT_REPEATS")[0] == '1';
  if (number == 0 || wanted == 0 || number < wanted || (number > wanted && !repeats)) return 0;
  const char* action = setting("FAULT_ACTION");
  if (std::strcmp(action, "kill") == 0) kill(getpid(), SIGKILL);
  if (std::strcmp(action, "stop") == 0) kill(getpid(), SIGSTOP);
  if (action[0] == '-') usleep(useconds_t(-1e6 * std::atof(action)));
  return std::atoi(action) > 0 ? std::atoi(action) : 0;
}

template <class... Arguments>
long called(const char* name, const Path& path, long number, Arguments... arguments) {
  if (const int error = fault(name, path)) {
    errno = error;
    return -1;
  }
  return syscall(number, arguments...);
}

int told_free(int result, struct statvfs* status) {
  const char* free = setting("FAULT_FREE");
  if (result == 0 && free[0]) {
    status->f_frsize = 1;
    status->f_bavail = fsblkcnt_t(std::atoll(free));
  }
  return result;
}

}  // namespace

// Named as the library names them.
extern "C" {

int fsync(int file) {
  const Path path(file);
  if (file == failed_fsync) log_line(0, "fsync-again", path.text);
  const int status = int(called("fsync", path, SYS_fsync, file));
  if (status != 0) failed_fsync = file;
  return status;
}
int close(int file) {
  if (file == failed_fsync) failed_fsync = -1;
  return int(called("close", Path(file), SYS_close, file));
}
ssize_t write(int file, const void* from, size_t bytes) {
  return called("write", Path(file), SYS_write, file, from, bytes);
}
ssize_t pwrite64(int file, const void* from, size_t bytes, off64_t offset) {
  if (setting("FAULT_NO_DIRECT")[0] == '1' && (fcntl(file, F_GETFL) & O_DIRECT)) {
    errno = EINVAL;
    return -1;
  }
  return called("pwrite", Path(file), SYS_pwrite64, file, from, bytes, offset);
}
ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  return pwrite64(file, from, bytes, offset);
}
ssize_t pread64(int file, void* to, size_t bytes, off64_t offset) {
  return called("pread", Path(file), SYS_pread64, file, to, bytes, offset);
}
ssize_t pread(int file, void* to, size_t bytes, off_t offset) {
  return pread64(file, to, bytes, offset);
}
int ftruncate64(int file, off64_t bytes) noexcept {
  return int(called("ftruncate", Path(file), SYS_ftruncate, file, bytes));
}
int ftruncate(int file, off_t bytes) noexcept { return ftruncate64(file, bytes); }
int fallocate64(int file, int mode, off64_t offset, off64_t bytes) {
  return int(called("fallocate", Path(file), SYS_fallocate, file, mode, offset, bytes));
}
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  return fallocate64(file, mode, offset, bytes);
}

int openat64(int folder, const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return int(called("open", Path(folder, name), SYS_openat, folder, name, flags, mode));
}
int openat(int folder, const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return openat64(folder, name, flags, mode);
}
int open64(const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return openat64(AT_FDCWD, name, flags, mode);
}
int open(const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return openat64(AT_FDCWD, name, flags, mode);
}

int mkdirat(int folder, const char* name, mode_t mode) noexcept {
  return int(called("mkdir", Path(folder, name), SYS_mkdirat, folder, name, mode));
}
int mkdir(const char* name, mode_t mode) noexcept { return mkdirat(AT_FDCWD, name, mode); }
int symlinkat(const char* target, int folder, const char* name) noexcept {
  return int(called("symlink", Path(folder, name), SYS_symlinkat, target, folder, name));
}
int renameat2(int from, const char* name, int to, const char* other, unsigned flags) noexcept {
  if (setting("FAULT_NO_NOREPLACE")[0] == '1' && (flags & RENAME_NOREPLACE)) {
    errno = EINVAL;
    return -1;
  }
  return int(called("rename", Path(from, name), SYS_renameat2, from, name, to, other, flags));
}
int renameat(int from, const char* name, int to, const char* other) noexcept {
  return renameat2(from, name, to, other, 0);
}
int rename(const char* name, const char* other) noexcept {
  return renameat2(AT_FDCWD, name, AT_FDCWD, other, 0);
}
int unlinkat(int folder, const char* name, int flags) noexcept {
  return int(called("unlink", Path(folder, name), SYS_unlinkat, folder, name, flags));
}
int unlink(const char* name) noexcept { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char* name) noexcept { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int flock(int file, int operation) noexcept {
  return int(called("flock", Path(file), SYS_flock, file, operation));
}

int fstatvfs64(int file, struct statvfs64* status) noexcept;
int fstatvfs(int file, struct statvfs* status) noexcept {
  const int result = fstatvfs64(file, reinterpret_cast<struct statvfs64*>(status));
  return told_free(result, status);
}
int statvfs64(const char* path, struct statvfs64* status) noexcept;
int statvfs(const char* path, struct statvfs* status) noexcept {
  const int result = statvfs64(path, reinterpret_cast<struct statvfs64*>(status));
  return told_free(result, status);
}

int io_uring_queue_init(unsigned entries, struct io_uring* ring, unsigned flags) {
  if (setting("FAULT_NO_URING")[0] == '1') return -ENOSYS;
  using Init = int (*)(unsigned, struct io_uring*, unsigned);
  const auto next = reinterpret_cast<Init>(dlsym(RTLD_NEXT, "io_uring_queue_init"));
  return next ? next(entries, ring, flags) : -ENOSYS;
}

}  // extern "C"
