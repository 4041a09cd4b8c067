#include "zero/io/checkpoint/store.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "io/checkpoint/folder_files.hpp"
#include "io/checkpoint/manifest_rules.hpp"
#include "io/checkpoint/step_folders.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/files/lock_file.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/output_file.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTrialBytes = 4096;

[[noreturn]] void refuse_path(const std::string& path, const char* doing) {
  refuse(Exit::kIo, path, ": ", std::strerror(errno), " ", doing);
}

/// Syncs the folders above, because a folder outlives a loss of power only if its name is on disk
/// in each of them. Skips one that it may not open, as that was there before. EINVAL: the folder
/// has no disk.
void sync_above(const std::string& root) {
  std::error_code gone;  // set if the working folder was removed
  fs::path at = fs::absolute(root, gone);
  while (at.has_relative_path()) {
    at = at.parent_path();
    const OpenFile folder(open(at.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder && fsync(folder.descriptor()) != 0 && errno != EINVAL) {
      refuse_path(at, "syncing the folder");
    }
  }
}

}  // namespace

Store::Store(const Options& options) : options_(options) {
  if (options_.writes) make_root();
  root_ = OpenFile(open(options_.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root_) refuse_path(options_.root, "opening the folder of checkpoints");
  if (!options_.writes) return;
  lock_ = LockFile(path(kLock), {.what = options_.root,
                                 .remedy = "write to another folder",
                                 .permissions = options_.permissions & 0666});
  open_root();
  collect();
  finish_publishing();
}

void Store::make_root() {
  std::error_code error;
  const fs::path parent = fs::path(options_.root).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error) refuse(Exit::kIo, parent.string(), ": ", error.message());
  if (mkdir(options_.root.c_str(), 0700) != 0) {
    if (errno == EEXIST) return;
    refuse_path(options_.root, "making the folder of checkpoints");
  }
  sync_above(options_.root);
}

/// Gives the folder its permissions, unless another user owns it or other files lie in it, which
/// may need their own.
void Store::open_root() {
  const std::vector<std::string> all = names();
  const auto ours = [](const std::string& name) {
    return name == kLock || name == kLatest || name.starts_with(kDamaged) ||
           name.starts_with(kStreak) || step_in(name) || is_unique_name(name, kMaking) ||
           is_unique_name(name, kRemoving);
  };
  const std::string problem = std::all_of(all.begin(), all.end(), ours)
                                  ? give_permissions(root_.descriptor(), options_.permissions)
                                  : "holds other files, too";
  // Steps have permissions of their own, so nobody sees more than is wanted.
  if (problem.empty() || allows(root_.descriptor(), options_.permissions)) return;
  warnings_.push_back(text(options_.root, ": does not get checkpoint.permissions = \"",
                           permissions_text(options_.permissions), "\": ", problem,
                           " - chmod it, or write another checkpoint.dir"));
}

std::vector<std::string> Store::names() const {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entry(options_.root, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) refuse(Exit::kIo, options_.root, ": ", error.message(), " listing it");
  return names;
}

void Store::collect() {
  for (const std::string& name : names()) {
    const bool ours = is_unique_name(name, kMaking) || is_unique_name(name, kRemoving);
    // A process without RENAME_NOREPLACE took the step's name and got no further.
    const bool taken = step_in(name) && is_empty_folder(name);
    std::string problem = ours ? remove(name) : "";
    if (taken && unlinkat(root_.descriptor(), name.c_str(), AT_REMOVEDIR) != 0) {
      problem = text(path(name), ": ", std::strerror(errno), " removing it");
    }
    if (!problem.empty()) warn_of_remains(problem);
  }
}

/// Moves `latest` to a whole step that a process renamed but did not point at before it ended. The
/// step would be in the way of the run that comes to it again.
void Store::finish_publishing() {
  const std::vector<int64_t> all = steps();
  const int64_t pointed_at = latest().value_or(-1);
  for (size_t i = all.size(); i-- > 0 && all[i] > pointed_at;) {
    if (verifies(all[i], true)) return point_latest_at(all[i]);
  }
}

std::string Store::folder_of(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step%08lld", static_cast<long long>(step));
  return name;
}

std::string Store::begin(int64_t step) {
  const std::string name = folder_of(step);
  struct stat status {};
  if (fstatat(root_.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (verifies(step, true)) {
      refuse(Exit::kIo, path(name),
             ": is there already, and a step is never overwritten - move it "
             "away, or write to another folder");
    }
    rename_new(path(name), path(unique_name(kDamaged, name)));
  }
  return make_temporary(name);
}

std::string Store::make_temporary(const std::string& name) const {
  std::string temporary = unique_name(kMaking, name);
  if (mkdirat(root_.descriptor(), temporary.c_str(), 0700) != 0) {
    refuse_path(path(temporary), "making the folder");
  }
  return temporary;
}

std::string Store::begin_trial() { return make_temporary(folder_of(0)); }

void Store::try_folder(const std::string& trial, int rank) const {
  const OpenFile folder(open_folder(trial));
  const std::string name = rank_file_name(rank);
  write_new(folder.descriptor(), path(trial) + "/" + name, std::string(kTrialBytes, '\0'));
  if (unlinkat(folder.descriptor(), name.c_str(), 0) != 0) {
    refuse_path(path(trial) + "/" + name, "removing the file");
  }
}

int64_t Store::free_bytes() const {
  struct statvfs status {};
  if (fstatvfs(root_.descriptor(), &status) != 0) refuse_path(options_.root, "asking its room");
  return int64_t(status.f_bavail) * int64_t(status.f_frsize);
}

int Store::open_folder(const std::string& name) const {
  const int folder =
      openat(root_.descriptor(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) refuse_path(path(name), "opening the folder");
  return folder;
}

void Store::sync_folder(int folder, const std::string& name) {
  if (fsync(folder) != 0) refuse_path(name, "syncing the folder");
}

/// Syncs by a new descriptor, because a failed sync may not be repeated on the old one.
void Store::sync_root() const {
  const OpenFile root(openat(root_.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) refuse_path(options_.root, "opening the folder");
  sync_folder(root.descriptor(), options_.root);
}

void Store::write_manifest(const std::string& temporary, const Manifest& manifest) {
  const OpenFile folder(open_folder(temporary));
  const std::string name = path(temporary) + "/" + kManifestName, content = to_text(manifest);
  if (int64_t(content.size()) > kManifestBytesMax) {
    refuse(Exit::kIo, name, ": would have ", content.size(), " bytes, of which at most ",
           kManifestBytesMax, " could be read again");
  }
  require_rules(manifest, name);
  write_new(folder.descriptor(), name, content);
}

/// Gives the files and the folder their permissions. Files are made for their owner alone; readers
/// of the root may read them in the end.
void Store::open_up(const std::string& temporary) const {
  const auto of_files = fs::perms(options_.permissions & 0666);
  std::error_code error;
  fs::directory_iterator entry(path(temporary), error);
  while (!error && entry != fs::directory_iterator()) {
    fs::permissions(entry->path(), of_files, error);
    if (!error) entry.increment(error);
  }
  if (!error) fs::permissions(path(temporary), fs::perms(options_.permissions), error);
  if (error) refuse(Exit::kIo, path(temporary), ": ", error.message(), " setting permissions");
  const OpenFile folder(open_folder(temporary));
  sync_folder(folder.descriptor(), path(temporary));
}

void Store::publish(const std::string& temporary, int64_t step) {
  if (options_.permissions != 0700) open_up(temporary);
  const std::optional<int64_t> before = latest();
  try {
    rename_new(path(temporary), path(folder_of(step)));
    point_latest_at(step);
  } catch (const Error&) {
    take_back(temporary, step, before);
    throw;
  }
}

/// Undoes a publish that failed. After a failed sync nobody can tell which names are on disk, and
/// another sync could report a false success. The step was not acknowledged, so it may be saved
/// again from its first byte.
void Store::take_back(const std::string& temporary, int64_t step, std::optional<int64_t> before) {
  struct stat status {};
  const int root = root_.descriptor();
  if (fstatat(root, temporary.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return;
  const bool points_at_it = latest() == step;
  if (points_at_it && !before && unlinkat(root, kLatest, 0) != 0) warn_of(kLatest);
  if (points_at_it && before) {
    try {
      link_latest_to(*before);
    } catch (const Error& error) {
      warn_of_remains(error.what());
    }
  }
  if (renameat(root, folder_of(step).c_str(), root, temporary.c_str()) != 0) {
    warn_of(folder_of(step));
  }
}

void Store::warn_of(const std::string& name) {
  warn_of_remains(text(path(name), ": ", std::strerror(errno), " taking it back"));
}

void Store::warn_of_remains(const std::string& problem) {
  warnings_.push_back(problem + "; the next start tries again");
}

void Store::point_latest_at(int64_t step) {
  link_latest_to(step);
  sync_root();
}

void Store::link_latest_to(int64_t step) {
  const std::string link = unique_name(kMaking, kLatest);
  if (symlinkat(folder_of(step).c_str(), root_.descriptor(), link.c_str()) != 0) {
    refuse_path(path(link), "making the link");
  }
  if (renameat(root_.descriptor(), link.c_str(), root_.descriptor(), kLatest) != 0) {
    const int reason = errno;
    remove(link);
    refuse(Exit::kIo, path(kLatest), ": ", std::strerror(reason), " replacing the link");
  }
}

std::string Store::abandon(const std::string& temporary) {
  if (is_unique_name(temporary, kMaking)) return remove(temporary);
  return text(path(temporary), ": is no temporary folder");
}

std::string Store::remove(const std::string& name) const {
  std::error_code error;
  fs::remove_all(path(name), error);
  return error ? text(path(name), ": ", error.message(), " removing it") : "";
}

bool Store::is_folder(const std::string& name) const {
  struct stat status {};
  if (fstatat(root_.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return S_ISDIR(status.st_mode);
  }
  // The entry may have gone meanwhile.
  if (exit_of_open(errno) == Exit::kIo) refuse_path(path(name), "looking at it");
  return false;
}

/// True only if the folder can be read and is empty.
bool Store::is_empty_folder(const std::string& name) const {
  std::error_code error;
  return is_folder(name) && fs::is_empty(path(name), error) && !error;
}

std::vector<int64_t> Store::steps() const {
  std::vector<int64_t> steps;
  for (const std::string& name : names()) {
    const std::optional<int64_t> step = step_in(name);
    if (step && is_folder(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::optional<int64_t> Store::latest() const {
  char target[NAME_MAX + 1];
  const ssize_t length = readlinkat(root_.descriptor(), kLatest, target, sizeof target);
  if (length <= 0) return {};
  const std::optional<int64_t> step = step_in({target, size_t(length)});
  const std::vector<int64_t> all = steps();
  return step && std::binary_search(all.begin(), all.end(), *step) ? step : std::nullopt;
}

bool Store::has_lost_all() const {
  struct stat status {};
  return steps().empty() && fstatat(root_.descriptor(), kLatest, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool Store::verifies(int64_t step, bool whole) const try {
  verify(step, whole);
  return true;
} catch (const Error& error) {
  // If the step cannot be read, assume nothing about its contents.
  if (error.exit() == Exit::kIo) throw;
  return false;
}

int64_t Store::manifest_bytes_most(int64_t step) const {
  int64_t files = 0;
  std::error_code error;
  fs::directory_iterator entry(path(folder_of(step)), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    const uintmax_t bytes = entry->file_size(unknown);
    if (!unknown && entry->path().filename() != kManifestName) files += int64_t(bytes);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    refuse(Exit::kIo, path(folder_of(step)), ": ", error.message(), " listing its files");
  }
  return std::min(kManifestBytesMax, kManifestBytesOfAny + files / kFileBytesOfManifestByte);
}

Manifest Store::read_manifest(int folder, int64_t step) const {
  const std::string name = folder_of(step);
  const InputFile file = open_plain(folder, path(name), kManifestName);
  // Most manifests are short, and many ranks need not ask for every file's length.
  const bool is_short = file.bytes() <= kManifestBytesOfAny;
  const std::string content =
      read_whole(file, is_short ? kManifestBytesOfAny : manifest_bytes_most(step));
  Manifest manifest = parse_manifest(content, path(name) + "/" + kManifestName);
  if (manifest.step != step) {
    refuse(Exit::kInput, path(name), ": its manifest is of step ", manifest.step);
  }
  return manifest;
}

OpenFile Store::open_step(int64_t step) const {
  const std::string name = folder_of(step);
  OpenFile folder(
      openat(root_.descriptor(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder) return folder;
  const int reason = errno;
  refuse(exit_of_open(reason), path(name), ": ", std::strerror(reason));
}

Manifest Store::verify(int64_t step, bool whole) const {
  const std::string name = folder_of(step);
  const OpenFile folder = open_step(step);
  Manifest manifest = read_manifest(folder.descriptor(), step);
  const DigestForm digests = digest_form(manifest);
  for (const File& file : manifest.files) {
    ShardReader reader(folder.descriptor(), path(name), file, digests);
    if (whole) reader.verify();
  }
  return manifest;
}

}  // namespace zero::checkpoint
