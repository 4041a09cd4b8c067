#include "zero/io/files/output_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero {
namespace {

constexpr int kMaxInterruptions = 16;  // interruptions of a write without progress
constexpr int kMostNames = 1000;
constexpr const char* kMaking = ".tmp-";

[[noreturn]] void refuse_taken(const std::string& path) {
  refuse(Exit::kIo, path, ": is there already and is never overwritten; move it away");
}

[[noreturn]] void refuse_rename(const std::string& from, const std::string& to, int reason,
                                const std::string& left = "") {
  refuse(Exit::kIo, to, ": ", strerror(reason), " renaming ", from, left);
}

/// Renames a file. Another process may take the name between the check and the rename.
void rename_file(const std::string& from, const std::string& to) {
  if (is_taken(to)) refuse_taken(to);
  if (rename(from.c_str(), to.c_str()) != 0) refuse_rename(from, to, errno);
}

/// Renames a folder over an empty one, because no two processes can both have made that.
void rename_folder(const std::string& from, const std::string& to) {
  if (mkdir(to.c_str(), 0700) != 0) {
    if (errno == EEXIST) refuse_taken(to);
    refuse(Exit::kIo, to, ": ", strerror(errno), " making the folder");
  }
  if (rename(from.c_str(), to.c_str()) == 0) return;
  const int reason = errno;
  const bool gone = rmdir(to.c_str()) == 0;
  refuse_rename(from, to, reason, gone ? "" : text("; ", strerror(errno), " removing it again"));
}

void sync_folder_of(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) close(file);
  if (!synced) refuse(Exit::kIo, folder, ": ", strerror(reason), " syncing the folder");
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : OutputFile(path, 0) {}

OutputFile::OutputFile(const std::string& path, int64_t first) : path_(path) {
  if (is_taken(path)) refuse_taken(path);
  const std::string name = text(path, kMaking, getpid()), end = first > 0 ? text(".", first) : "";
  temporary_ = name + end;
  const auto make = [&] {
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    return file_ >= 0;
  };
  // A killed process may have had the same number.
  for (int i = 1; !make(); ++i) {
    if (errno != EEXIST || i == kMostNames) refuse(Exit::kIo, temporary_, ": ", strerror(errno));
    temporary_ = text(name, "-", i, end);
  }
  // Tells left_files() that this process lives. On a file system without locks, nothing does.
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) return;
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  const int64_t begin = written_;
  for (int interrupted = 0; !bytes.empty();) {
    const ssize_t put = pwrite(file_, bytes.data(), bytes.size(), written_);
    if (put > 0) {
      bytes = bytes.subspan(size_t(put));
      written_ += put;
      interrupted = 0;
    } else if (put == 0 || errno != EINTR || ++interrupted > kMaxInterruptions) {
      const std::string reason = strerror(errno);
      const int64_t place = std::exchange(written_, begin);
      const bool is_cut = ftruncate(file_, begin) == 0;
      refuse(Exit::kIo, path_, ": offset ", place, ": ", reason, " writing ", bytes.size(),
             " bytes",
             is_cut ? "" : text("; those from offset ", begin, " on could not be cut off"));
    }
  }
}

void OutputFile::publish() {
  if (fsync(file_) != 0) refuse(Exit::kIo, path_, ": ", strerror(errno), " syncing the file");
  rename_new(temporary_, path_);
  const int file = std::exchange(file_, -1);
  if (close(file) != 0) refuse(Exit::kIo, path_, ": ", strerror(errno), " closing the file");
}

std::string OutputFile::leave() {
  close(std::exchange(file_, -1));
  return temporary_;
}

std::vector<std::string> left_files(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path whole(path), place = whole.has_parent_path() ? whole.parent_path() : ".";
  const std::string front = whole.filename().string() + kMaking;
  std::vector<std::string> left;
  std::error_code ignored;
  for (fs::directory_iterator entry(place, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const bool is_made = name.starts_with(front) &&
                         name.find_first_not_of("0123456789-.", front.size()) == name.npos;
    std::error_code unknown;
    if (!is_made || !fs::is_regular_file(entry->symlink_status(unknown))) continue;
    const OpenFile file(
        open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file && flock(file.descriptor(), LOCK_SH | LOCK_NB) == 0)
      left.push_back(entry->path().string());
  }
  std::sort(left.begin(), left.end());
  return left;
}

int64_t first_line_of(const std::string& left) {
  const size_t dot = left.find('.', left.rfind(kMaking) + std::strlen(kMaking));
  int64_t first = 1;
  if (dot != left.npos) std::from_chars(left.data() + dot + 1, left.data() + left.size(), first);
  return std::max<int64_t>(first, 1);
}

void rename_new(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) refuse_taken(to);
    // Some file systems do not know the flag.
    if (errno != EINVAL && errno != ENOSYS) refuse_rename(from, to, errno);
    is_folder(from, Exit::kIo) ? rename_folder(from, to) : rename_file(from, to);
  }
  sync_folder_of(to);
}

}  // namespace zero
