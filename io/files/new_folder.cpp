#include "zero/io/files/new_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/output_file.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMaking = ".tmp-";
constexpr int kMostNames = 1000;

OpenFile opened(const std::string& path) {
  return OpenFile(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool lock(const OpenFile& folder) { return flock(folder.descriptor(), LOCK_EX | LOCK_NB) == 0; }

/// True if a NewFolder of `name` may have made the folder: "model.tmp-17", "model.tmp-17-2".
bool is_temporary(const std::string& found, const std::string& name) {
  if (!found.starts_with(name + kMaking)) return false;
  const std::string suffix = found.substr(name.size() + std::strlen(kMaking));
  const auto of_a_number = [](unsigned char letter) {
    return std::isdigit(letter) || letter == '-';
  };
  return !suffix.empty() && std::all_of(suffix.begin(), suffix.end(), of_a_number);
}

bool is_ours(const OpenFile& folder) {
  struct stat status {};
  return fstat(folder.descriptor(), &status) == 0 && status.st_uid == geteuid();
}

/// Removes folders that ended processes left. Ignores failures, which only cost room.
void remove_left(const fs::path& path) {
  std::error_code ignored;
  const fs::path place = path.has_parent_path() ? path.parent_path() : ".";
  fs::directory_iterator entry(place, ignored);
  for (; !ignored && entry != fs::directory_iterator(); entry.increment(ignored)) {
    if (!is_temporary(entry->path().filename().string(), path.filename().string())) continue;
    const OpenFile folder = opened(entry->path().string());
    std::error_code left;
    if (folder && is_ours(folder) && lock(folder)) fs::remove_all(entry->path(), left);
  }
}

}  // namespace

NewFolder::NewFolder(const std::string& path) : path_(path) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  if (is_taken(path_)) {
    refuse(Exit::kIo, path, ": is there already and is never overwritten; name another folder");
  }
  remove_left(path_);
  const std::string name = text(path_, kMaking, getpid());
  temporary_ = name;
  for (int i = 1; !take(); ++i) {
    if (errno != EEXIST || i == kMostNames) {
      refuse(Exit::kIo, temporary_, ": cannot be made: ", path_advice(errno));
    }
    temporary_ = text(name, "-", i);
  }
}

/// Makes and locks the folder. EEXIST if another process has it, or locked it as a leftover. Works
/// without locks in the file system; a folder left there stays.
bool NewFolder::take() {
  if (mkdir(temporary_.c_str(), 0777) != 0) return false;
  lock_ = opened(temporary_);
  struct stat status {};
  if (lock_ && !lock(lock_) && errno == EWOULDBLOCK) {
    errno = EEXIST;
    return false;
  }
  if (lock_ && fstat(lock_.descriptor(), &status) == 0 && status.st_nlink > 0) return true;
  // A process that took the folder for a leftover has removed it.
  if (lock_ || errno == ENOENT) errno = EEXIST;
  return false;
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!is_published_) fs::remove_all(temporary_, ignored);
}

void NewFolder::publish() {
  rename_new(temporary_, path_);
  is_published_ = true;
}

}  // namespace zero
