#include "zero/io/files/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "zero/base/error.hpp"
#include "zero/io/files/file_kind.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero {

namespace {

constexpr int kMaxInterruptions = 16;  // interruptions of a read without progress

}  // namespace

InputFile::InputFile(const std::string& path)
    // A pipe without a writer would make open() wait for ever.
    : InputFile(OpenFile(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), path) {}

InputFile::InputFile(OpenFile file, const std::string& path) : path_(path), file_(std::move(file)) {
  if (!file_) {
    const bool too_many = errno == EMFILE;  // hundreds of files of data
    refuse(Exit::kInput, path, ": ", strerror(errno),
           too_many ? " - raise the limit (ulimit -Hn), or make one set of the files of data "
                      "(zeroapp data INPUT --prepare OUT)"
                    : "");
  }
  struct stat status {};
  const bool known = fstat(file_.descriptor(), &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) refuse(Exit::kInput, path, ": is no regular file");
  bytes_ = int64_t(status.st_size);
}

void InputFile::read(int64_t offset, std::span<std::byte> out) const {
  size_t done = 0;
  for (int interrupted = 0; done < out.size();) {
    const int64_t at = offset + int64_t(done);
    const ssize_t got = pread(file_.descriptor(), out.data() + done, out.size() - done, off_t(at));
    if (got > 0) {
      done += size_t(got);
      interrupted = 0;
    } else if (got == 0) {
      refuse(Exit::kInput, path_, ": offset ", at, ": the file ends here, but had ", bytes_,
             " bytes when it was opened");
    } else if (errno != EINTR || ++interrupted > kMaxInterruptions) {
      refuse(Exit::kIo, path_, ": offset ", at, ": ", strerror(errno), " reading ",
             out.size() - done, " bytes");
    }
  }
}

std::string read_whole(const InputFile& file, int64_t limit) {
  if (file.bytes() > limit) {
    refuse(Exit::kInput, file.path(), ": has ", file.bytes(), " bytes, at most ", limit,
           " are read");
  }
  std::string content(size_t(file.bytes()), '\0');
  file.read(0, std::as_writable_bytes(std::span(content)));
  return content;
}

std::string read_whole(const std::string& path, int64_t limit) {
  std::string content = read_whole(InputFile(path), limit);
  require_text_kind(content, path);
  return content;
}

}  // namespace zero
