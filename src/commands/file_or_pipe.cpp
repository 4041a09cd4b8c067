#include "src/commands/file_or_pipe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/files.hpp"

namespace zero::commands {
namespace {

constexpr int kPatience = 10'000;  // milliseconds for somebody who writes to come

/// The next bytes, however long a writer takes for them; 0 at the end of the last writer, and -1
/// with errno, which is ETIMEDOUT where none has come.
ssize_t read_next(const OpenFile& pipe, std::string& bytes) {
  pollfd asked{.fd = pipe.descriptor(), .events = POLLIN, .revents = 0};
  for (;;) {
    const int found = poll(&asked, 1, kPatience);
    if (found < 0 && errno == EINTR) continue;
    const ssize_t got = read(pipe.descriptor(), bytes.data(), bytes.size());
    if (got == 0 && found == 0) errno = ETIMEDOUT;
    if (got == 0) return found == 0 ? -1 : 0;
    if (got > 0 || (errno != EAGAIN && errno != EINTR)) return got;
  }
}

}  // namespace

std::string read_file_or_pipe(const std::string& path, int64_t limit) {
  std::error_code unknown;
  if (!std::filesystem::is_fifo(path, unknown)) return read_whole(path, limit);
  // A pipe that nobody writes into would make open() wait for ever.
  const OpenFile pipe(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!pipe) refuse(Exit::kInput, path, ": ", path_advice(errno));
  std::string content, piece(size_t(1) << 16, '\0');
  for (ssize_t got = 0; (got = read_next(pipe, piece)) != 0;) {
    if (got < 0) refuse(Exit::kInput, path, ": ", path_advice(errno));
    content.append(piece, 0, size_t(got));
    if (int64_t(content.size()) > limit)
      refuse(Exit::kInput, path, ": gives more than ", limit, " bytes, the most that are read");
  }
  return content;
}

}  // namespace zero::commands
