#include "zero/train/run_folder.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "zero/base/error.hpp"
#include "zero/train/launches.hpp"

namespace zero::train {
namespace {

namespace fs = std::filesystem;

/// All that a run writes into its folder but the lock. Whatever else is there is not ours to move.
constexpr const char* kOutputs[] = {"metrics.jsonl",  "summary.json", "launches.jsonl",
                                    "effective.toml", "trace.json",   "error.json",
                                    "sample.txt",     "model"};

std::string host_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return host;
}

/// What the lock file says: "host n2 process 17". Empty after a clean end.
std::string holder_of(const std::string& lock_path) {
  const std::string line = file_text(lock_path);
  return line.substr(0, line.find('\n'));
}

/// Of another host nothing is known, so there it may.
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

[[noreturn]] void refuse_path(const std::string& path, int reason) {
  refuse(Exit::kIo, "run.output: ", path, ": ", std::strerror(reason),
         " - mend that, or write another run.output");
}

}  // namespace

RunFolder::RunFolder(const std::string& path) : path_(path) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) refuse_path(path_, error.value());
  take_lock();
  try_disk();
  receive_earlier_run();
}

RunFolder::~RunFolder() {
  // Only a file system without locks would miss it.
  if (lock_ && ftruncate(lock_.descriptor(), 0) != 0) return;
}

void RunFolder::take_lock() {
  const std::string path = path_ + "/lock";
  OpenFile file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file) refuse_path(path, errno);
  if (flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      const std::string holder = holder_of(path);
      refuse(Exit::kInUse, "run.output: ", path_, " is in use by ",
             holder.empty() ? "a process that has just begun" : holder,
             " - wait for it, or write another run.output");
    }
    if (!knows_no_locks(errno)) refuse_path(path, errno);
    trust_lock_file(path);
  }
  const std::string holder = text("host ", host_name(), " process ", getpid(), "\n");
  if (ftruncate(file.descriptor(), 0) != 0) refuse_path(path, errno);
  if (const int reason = write_all(file, holder)) refuse_path(path, reason);
  lock_ = std::move(file);
}

void RunFolder::trust_lock_file(const std::string& lock_path) const {
  const std::string holder = holder_of(lock_path);
  if (!may_live(holder)) return;
  refuse(Exit::kInUse, "run.output: ", path_, " is in use by ", holder,
         ", as far as is known where a file system has no locks - wait for it, write another "
         "run.output, or remove ",
         lock_path, " if that process is gone");
}

void RunFolder::try_disk() const {
  const std::string path = path_ + "/.probe", page(4096, '\0');
  const OpenFile file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) refuse_path(path, errno);
  int reason = write_all(file, page);
  // EINVAL: there is nothing behind this file system that a file could be sent to.
  if (reason == 0 && fsync(file.descriptor()) != 0 && errno != EINVAL) reason = errno;
  if (unlink(path.c_str()) != 0 && reason == 0) reason = errno;
  if (reason != 0) refuse_path(path, reason);
}

/// The one place that decides what becomes of an earlier run. There are no checkpoints to go on
/// from, so it makes way, whether it had finished or not.
void RunFolder::receive_earlier_run() {
  std::vector<std::string> outputs;
  for (const char* name : kOutputs) {
    if (fs::exists(fs::symlink_status(path_ + "/" + name))) outputs.emplace_back(name);
  }
  if (outputs.empty()) return;
  // The lock is ours: a launch that has not said how it ended can no longer do so.
  end_killed_launch(path_);
  earlier_end_ = last_end(path_);
  move_away(outputs);
}

void RunFolder::move_away(const std::vector<std::string>& names) {
  int number = 1;
  while (fs::exists(path_ + "/old-" + std::to_string(number))) ++number;
  moved_to_ = path_ + "/old-" + std::to_string(number);
  std::error_code error;
  fs::create_directory(moved_to_, error);
  for (const std::string& name : names) {
    if (!error) fs::rename(path_ + "/" + name, moved_to_ + "/" + name, error);
  }
  if (error) refuse_path(moved_to_, error.value());
}

}  // namespace zero::train
