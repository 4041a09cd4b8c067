#include "zero/base/path.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace zero {
namespace {

using Clock = std::chrono::steady_clock;

PathLook answer(int status, const struct stat& found) {
  if (status != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return {PathKind::unknown, errno};
  }
  if (S_ISREG(found.st_mode)) return {PathKind::file};
  return {S_ISDIR(found.st_mode) ? PathKind::folder : PathKind::other};
}

PathKind required(const PathLook& look, const std::string& path, Exit exit) {
  if (look.kind != PathKind::unknown) return look.kind;
  for (const int ours : {EACCES, EPERM, ELOOP, ENAMETOOLONG}) {
    if (look.reason == ours) refuse(exit, path, ": ", path_advice(look.reason));
  }
  refuse(Exit::kIo, path, ": ", path_advice(look.reason));
}

/// Waits until `end` at most. True if bytes, their end or an error can be read.
bool wait_for(int file, Clock::time_point end) {
  pollfd asked{.fd = file, .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    const int found = poll(&asked, 1, int(std::max<int64_t>(0, left.count())));
    if (found >= 0 || errno != EINTR) return found > 0;
  }
}

int read_all(int file, std::string& bytes, Clock::time_point end) {
  size_t done = 0;
  while (done < bytes.size()) {
    if (!wait_for(file, end)) return ETIMEDOUT;
    const ssize_t got = read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno != EINTR && errno != EAGAIN) return errno;
    if (got == 0) break;
    done += size_t(std::max<ssize_t>(0, got));
  }
  bytes.resize(done);
  return 0;
}

}  // namespace

PathLook look_at(const std::string& path) {
  struct stat found {};
  const int status = stat(path.c_str(), &found);
  return answer(status, found);
}

PathLook look_at_name(const std::string& path) {
  struct stat found {};
  const int status = lstat(path.c_str(), &found);
  return answer(status, found);
}

std::string path_advice(int reason) {
  const std::string what = std::strerror(reason);
  switch (reason) {
    case EACCES:
    case EPERM:
      return what + "; let this user look there, or name another path";
    case ELOOP:
      return what + "; its links lead in a circle, so name what they were to lead to";
    case ENAMETOOLONG:
      return what + "; name a shorter path";
    case ETIMEDOUT:
      return "nobody writes into this pipe; name a file, or start what writes into it";
    default:
      return what + "; mend that, or name another path";
  }
}

bool is_there(const std::string& path, Exit exit) {
  return required(look_at(path), path, exit) != PathKind::nothing;
}

bool is_folder(const std::string& path, Exit exit) {
  return required(look_at(path), path, exit) == PathKind::folder;
}

bool is_taken(const std::string& path, Exit exit) {
  return required(look_at_name(path), path, exit) != PathKind::nothing;
}

std::string why_no_folder(const std::string& path) {
  const PathLook look = look_at(path);
  if (look.kind == PathKind::folder) return "";
  return look.kind == PathKind::unknown ? path_advice(look.reason) : "is no folder";
}

FileStart read_start(const std::string& path, size_t most, std::chrono::milliseconds patience) {
  // A pipe that nobody writes into would make open() wait for ever.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {"", errno};
  FileStart start{std::string(most, '\0'), 0};
  start.reason = read_all(file, start.bytes, Clock::now() + patience);
  close(file);
  return start;
}

}  // namespace zero
