#include "src/commands/user_text.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/file_kind.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::commands {
namespace {

constexpr int kPatience = 10'000;  // milliseconds to wait for a writer

/// Reads the next bytes, however long a writer takes. Returns 0 at the end of the last writer, and
/// -1 with errno, which is ETIMEDOUT if none has come.
ssize_t read_next(const OpenFile& pipe, std::string& bytes) {
  pollfd asked{.fd = pipe.descriptor(), .events = POLLIN, .revents = 0};
  for (;;) {
    const int found = poll(&asked, 1, kPatience);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return -1;
    const ssize_t got = read(pipe.descriptor(), bytes.data(), bytes.size());
    if (got == 0 && found == 0) errno = ETIMEDOUT;
    if (got == 0) return found == 0 ? -1 : 0;
    if (got > 0 || (errno != EAGAIN && errno != EINTR)) return got;
  }
}

/// Returns the bytes of the whole character that `bytes` begins with; 0 without one.
size_t character_length(std::string_view bytes) {
  Utf8Checker utf8;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!utf8.accept(uint8_t(bytes[i]))) return 0;
    if (utf8.complete()) return i + 1;
  }
  return 0;
}

std::string escaped_byte(char byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    default:
      return format("\\x%02x", uint8_t(byte));
  }
}

bool stands_for_itself(char byte) {
  const bool control = uint8_t(byte) < ' ' || byte == 0x7f;
  return !control && byte != '"' && byte != '\\';
}

}  // namespace

std::string read_file_or_pipe(const std::string& path, int64_t limit) {
  std::error_code unknown;
  if (!std::filesystem::is_fifo(path, unknown)) return read_whole(path, limit);
  // open() would wait for ever on a pipe without a writer.
  const OpenFile pipe(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!pipe) refuse(Exit::kInput, path, ": ", path_advice(errno));
  std::string content, piece(size_t(1) << 16, '\0');
  for (ssize_t got = 0; (got = read_next(pipe, piece)) != 0;) {
    if (got < 0) refuse(Exit::kInput, path, ": ", path_advice(errno));
    content.append(piece, 0, size_t(got));
    if (int64_t(content.size()) > limit)
      refuse(Exit::kInput, path, ": gives more than ", limit, " bytes, the most that are read");
  }
  require_text_kind(content, path);
  return content;
}

std::string escaped_text(std::string_view bytes, size_t width) {
  std::string out = "\"";
  size_t used = 0;
  while (!bytes.empty()) {
    const size_t length = character_length(bytes);
    const bool whole = length > 0 && stands_for_itself(bytes[0]);
    const std::string shown = whole ? std::string(bytes.substr(0, length)) : escaped_byte(bytes[0]);
    used += whole ? 1 : shown.size();
    if (used > width) return out + "\"...";
    out += shown;
    bytes.remove_prefix(whole ? length : 1);
  }
  return out + "\"";
}

}  // namespace zero::commands
