#include "zero/train/run_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "zero/base/error.hpp"

namespace zero::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "lock";

bool stays(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == kLockName || name.starts_with("old-");
}

std::string holder_of(const std::string& lock_path) {
  std::ifstream file(lock_path);
  std::string line;
  std::getline(file, line);
  return line.empty() ? "an unknown process" : line;
}

}  // namespace

RunFolder::RunFolder(const std::string& path) : path_(path) {
  try {
    fs::create_directories(path_);
    take_lock();
    move_old_files();
  } catch (const fs::filesystem_error& error) {
    if (lock_ >= 0) close(lock_);
    refuse(Exit::kIo, "run.output: ", error.what());
  }
}

RunFolder::~RunFolder() {
  if (lock_ >= 0) close(lock_);
}

void RunFolder::take_lock() {
  const std::string path = path_ + "/" + kLockName;
  lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (lock_ < 0) refuse(Exit::kIo, "run.output: ", path, ": ", std::strerror(errno));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    close(lock_);
    lock_ = -1;
    if (reason != EWOULDBLOCK) refuse(Exit::kIo, path, ": ", std::strerror(reason));
    refuse(Exit::kInUse, "run.output: ", path_, " is in use by ", holder_of(path),
           " - wait for it, or write another run.output");
  }
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string holder = text("host ", host, " process ", getpid(), "\n");
  const bool written = ftruncate(lock_, 0) == 0 &&
                       pwrite(lock_, holder.data(), holder.size(), 0) == ssize_t(holder.size());
  if (!written) refuse(Exit::kIo, "run.output: ", path, ": ", std::strerror(errno));
}

void RunFolder::move_old_files() {
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    if (!stays(entry.path())) old.push_back(entry.path());
  }
  if (old.empty()) return;
  int number = 1;
  while (fs::exists(path_ + "/old-" + std::to_string(number))) ++number;
  moved_to_ = path_ + "/old-" + std::to_string(number);
  fs::create_directory(moved_to_);
  for (const fs::path& file : old) fs::rename(file, fs::path(moved_to_) / file.filename());
}

}  // namespace zero::train
