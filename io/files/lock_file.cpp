#include "zero/io/files/lock_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "zero/base/error.hpp"
#include "zero/base/process_limits.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero {
namespace {

constexpr size_t kHolderBytesMax = 512;

/// Returns the holder that the file names, "host n2 process 17"; empty after a clean end. Never
/// blocks, whatever has the name, and stops at the first character that a terminal does not show.
std::string holder_in(const std::string& path) {
  const OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::string line(kHolderBytesMax, '\0');
  const ssize_t bytes = file ? read(file.descriptor(), line.data(), line.size()) : 0;
  line.resize(size_t(std::max<ssize_t>(0, bytes)));
  const auto shows = [](char letter) { return letter >= ' ' && letter <= '~'; };
  line.erase(std::find_if_not(line.begin(), line.end(), shows), line.end());
  return line;
}

/// True if the holder may live, as any process on another host may.
bool may_live(const std::string& holder) {
  std::istringstream words(holder);
  std::string word, host;
  pid_t process = 0;
  if (!(words >> word >> host >> word >> process) || process <= 0) return false;
  return host != host_name() || kill(process, 0) == 0 || errno == EPERM;
}

bool knows_no_locks(int reason) {
  return reason == ENOSYS || reason == EOPNOTSUPP || reason == ENOLCK;
}

[[noreturn]] void refuse_path(const std::string& path, int reason, const std::string& remedy) {
  refuse(Exit::kIo, path, ": ", std::strerror(reason), " - mend that, or ", remedy);
}

void trust_word(const std::string& path, const LockFile::Words& words) {
  const std::string holder = holder_in(path);
  if (!may_live(holder)) return;
  refuse(Exit::kInUse, words.what, " is in use by ", holder,
         ", as far as is known where a file system has no locks - wait for it, ", words.remedy,
         ", or remove ", path, " if that process is gone");
}

void lock(const OpenFile& file, const std::string& path, const LockFile::Words& words) {
  if (flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) {
    const std::string holder = holder_in(path);
    refuse(Exit::kInUse, words.what, " is in use by ",
           holder.empty() ? "a process that has just begun" : holder, " - wait for it, or ",
           words.remedy);
  }
  if (!knows_no_locks(errno)) refuse_path(path, errno, words.remedy);
  trust_word(path, words);
}

/// True if the open file still has this name.
bool is_named(const OpenFile& file, const std::string& path) {
  struct stat open {
  }, named{};
  return fstat(file.descriptor(), &open) == 0 && lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// Opens and locks the file of this name. Looks at the name again under the lock, because another
/// process may have removed the file under its own lock.
OpenFile locked_file(const std::string& path, const LockFile::Words& words) {
  constexpr int kTries = 16;
  for (int i = 0; i < kTries; ++i) {
    OpenFile file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                       words.permissions.value_or(0644)));
    if (!file) refuse_path(path, errno, words.remedy);
    lock(file, path, words);
    if (is_named(file, path)) return file;
  }
  refuse_path(path, ENOENT, words.remedy);
}

}  // namespace

void remove_lock_file(const std::string& path) {
  const OpenFile file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file || flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0 || !is_named(file, path)) return;
  unlink(path.c_str());
}

std::optional<LockHolder> lock_holder(const std::string& path) {
  const std::string words = holder_in(path);
  if (words.empty()) return {};
  return LockHolder{.words = words, .may_live = may_live(words)};
}

LockFile::LockFile(const std::string& path, const Words& words) {
  OpenFile file = locked_file(path, words);
  // Sets permissions only after the lock is held. Any process that can open the file may lock it,
  // so its owner decides who can.
  if (words.permissions) give_permissions(file.descriptor(), *words.permissions);
  const std::string holder = text("host ", host_name(), " process ", getpid(), "\n");
  if (ftruncate(file.descriptor(), 0) != 0) refuse_path(path, errno, words.remedy);
  if (const int reason = write_all(file, holder)) refuse_path(path, reason, words.remedy);
  file_ = std::move(file);
}

LockFile::~LockFile() {
  // A failure matters only on a file system without locks.
  if (file_ && ftruncate(file_.descriptor(), 0) != 0) return;
}

}  // namespace zero
