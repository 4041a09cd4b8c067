#include "src/train/run_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/lock_file.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/own_file.hpp"
#include "zero/launch/launch_record.hpp"

namespace zero::train {
namespace {

namespace fs = std::filesystem;

/// All that a run writes into its folder except the lock. Other files are never moved.
constexpr const char* kOutputs[] = {
    "metrics.jsonl", "summary.json",      "launches.jsonl", "effective.toml",
    "trace.json",    "error.json",        "hangs",          "sample.txt",
    "model",         "evaluations.jsonl", "generated",      "tensorboard",
    "csv_monitor",   "monitor",           "ranks.jsonl",    "digests.jsonl"};

[[noreturn]] void refuse_path(const std::string& path, int reason) {
  refuse(Exit::kIo, "run.output: ", path, ": ", std::strerror(reason),
         " - mend that, or write another run.output");
}

}  // namespace

// The delegated constructor completes the object, so the destructor cleans up if this body throws.
RunFolder::RunFolder(const std::string& path) : RunFolder(path, Members()) {
  std::error_code error;
  will_make(path_, "lock");
  fs::create_directories(path_, error);
  if (error) refuse_path(path_, error.value());
  lock_ = LockFile(path_ + "/lock",
                   {.what = "run.output: " + path_, .remedy = "write another run.output"});
  try_disk();
  // This rank holds the lock, so a launch without a recorded end was killed.
  launch::end_killed_launch(path_);
  earlier_end_ = launch::last_end(path_);
}

RunFolder::~RunFolder() {
  if (is_kept_) return;
  lock_ = LockFile();
  for (const std::string& lock : locks_) remove_lock_file(lock);
  // rmdir() keeps folders that hold anything.
  for (const std::string& folder : made_) rmdir(folder.c_str());
}

void RunFolder::will_make(const std::string& folder, const char* lock) {
  const auto is_absent = [](const std::string& path) {
    return look_at_name(path).kind == PathKind::nothing;
  };
  if (is_absent(folder + "/" + lock)) locks_.push_back(folder + "/" + lock);
  std::vector<std::string> made;
  for (fs::path at = folder; !at.empty() && is_absent(at.string()); at = at.parent_path())
    made.push_back(at.string());
  made_.insert(made_.begin(), made.begin(), made.end());
}

void RunFolder::write(const std::string& name, const std::string& content) const {
  replace_own(path_ + "/" + name, content);
}

void RunFolder::write_generated(const std::string& name, const std::string& content) const {
  const std::string folder = path_ + "/generated";
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) refuse_path(folder, errno);
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(folder, error))) refuse_path(folder, ENOTDIR);
  replace_own(folder + "/" + name, content);
}

void RunFolder::try_disk() const {
  const std::string path = path_ + "/.probe", page(4096, '\0');
  const OpenFile file = make_own(path);
  if (!file) refuse_path(path, errno);
  int reason = write_all(file, page);
  if (reason == 0 && !sync_file(file)) reason = errno;
  if (unlink(path.c_str()) != 0 && reason == 0) reason = errno;
  if (reason != 0) refuse_path(path, reason);
}

std::vector<std::string> RunFolder::present(std::span<const char* const> names) const {
  std::vector<std::string> found;
  for (const char* name : names) {
    if (is_taken(path_ + "/" + name)) found.emplace_back(name);
  }
  return found;
}

void RunFolder::make_way(bool with_checkpoints) {
  std::vector<std::string> outputs = present(kOutputs);
  if (with_checkpoints && is_taken(path_ + "/checkpoints")) outputs.emplace_back("checkpoints");
  if (!outputs.empty()) move_away(outputs);
}

void RunFolder::remove(const char* name) const {
  const std::string path = path_ + "/" + name;
  if (unlink(path.c_str()) != 0 && errno != ENOENT) refuse_path(path, errno);
}

// launches.jsonl keeps the ends of launches.
void RunFolder::forget_error() {
  remove("error.json");
  std::error_code left;  // Notes of another launch are not read.
  fs::remove_all(path_ + "/hangs", left);
}

void RunFolder::go_on() {
  // A summary is true only of an end, which is yet to come.
  remove("summary.json");
  constexpr const char* kOfAnEarlierEnd[] = {"sample.txt", "trace.json", "model"};
  const std::vector<std::string> outputs = present(kOfAnEarlierEnd);
  if (!outputs.empty()) move_away(outputs);
}

void RunFolder::move_away(const std::vector<std::string>& names) {
  const auto make = [&](int number) {
    moved_to_ = path_ + "/old-" + std::to_string(number);
    return mkdir(moved_to_.c_str(), 0777) == 0;
  };
  // An existing old-<n>/ is never reused.
  for (int number = 1; !make(number); ++number) {
    if (errno != EEXIST) refuse_path(moved_to_, errno);
  }
  std::error_code error;
  for (const std::string& name : names) {
    if (!error) fs::rename(path_ + "/" + name, moved_to_ + "/" + name, error);
  }
  if (error) refuse_path(moved_to_, error.value());
}

}  // namespace zero::train
