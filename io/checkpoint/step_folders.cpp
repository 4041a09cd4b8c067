/// Names of step folders, and the parts of Store that remove steps and list other entries.

#include "io/checkpoint/step_folders.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/files/lock_file.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/output_file.hpp"

namespace zero::checkpoint {
namespace {

constexpr size_t kIdBytes = 16;
constexpr std::string_view kStep = "step";

std::string random_id() {
  uint8_t bytes[kIdBytes];
  if (getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) {
    refuse(Exit::kIo, "random bytes for a folder's name: ", std::strerror(errno));
  }
  return hex_of(bytes);
}

}  // namespace

std::string unique_name(std::string_view prefix, const std::string& name) {
  return text(prefix, name, "-", random_id());
}

bool is_unique_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const size_t dash = name.rfind('-');
  if (dash == name.npos || name.size() - dash - 1 != 2 * kIdBytes) return false;
  return name.substr(0, dash) == kLatest || Store::step_in(name.substr(0, dash));
}

std::optional<int64_t> Store::step_in(std::string_view name) {
  if (!name.starts_with(kStep)) return {};
  int64_t step = 0;
  const auto end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kStep.size(), end, step);
  if (error != std::errc() || stop != end || folder_of(step) != name) return {};
  return step;
}

void Store::retain(const Retention& retention) {
  ZERO_REQUIRE(retention.keep == 0 || retention.keep >= 2, "keep ", retention.keep,
               " checkpoints: at least 2, or 0 for all");
  finish_removing();
  if (retention.keep == 0) return;
  const std::vector<int64_t> all = steps();
  if (int64_t(all.size()) <= retention.keep) return;
  const auto newest =
      std::find_if(all.rbegin(), all.rend(), [&](int64_t step) { return verifies(step, false); });
  for (size_t i = 0; i + size_t(retention.keep) < all.size(); ++i) {
    const int64_t step = all[i];
    const bool periodic = retention.keep_every > 0 && step % retention.keep_every == 0;
    const bool needed = (newest != all.rend() && step == *newest) || step == latest();
    const bool named = step == retention.best || step == retention.healthy;
    if (!periodic && !needed && !named) remove_step(step);
  }
}

void Store::remove_step(int64_t step) {
  const std::string name = folder_of(step), going = unique_name(kRemoving, name);
  rename_new(path(name), path(going));
  remove_now_or_later(going);
}

void Store::remove_now_or_later(const std::string& name) {
  const std::string problem = remove(name);
  if (!problem.empty()) warnings_.push_back(problem + "; the next save or start tries again");
}

/// Finishes removals that failed in a sync or midway. Syncs before a step loses its files, because
/// a loss of power could bring its name back.
void Store::finish_removing() {
  for (const std::string& name : names()) {
    if (!is_unique_name(name, kRemoving)) continue;
    sync_root();
    remove_now_or_later(name);
  }
}

/// Lists entries that are not checkpoints. If the lock is held, its holder may still finish what
/// looks unfinished.
std::vector<Store::Leftover> Store::leftovers() const {
  const std::optional<LockHolder> holder = lock_holder(path(kLock));
  const bool in_use = holder && holder->may_live;
  const std::string collected =
      in_use ? "leave it to " + holder->words : "the next launch that saves here removes it";
  std::vector<std::string> all = names();
  std::sort(all.begin(), all.end());
  std::vector<Leftover> left;
  for (const std::string& name : all) {
    const auto add = [&](const std::string& what, const std::string& remedy) {
      left.push_back({.name = name, .what = what, .remedy = remedy});
    };
    if (is_unique_name(name, kMaking)) {
      add(in_use ? "a save under way" : "a save that did not end", collected);
    } else if (is_unique_name(name, kRemoving)) {
      add("a checkpoint that is being removed", collected);
    } else if (name == kLock) {
      if (in_use) add("held by " + holder->words, "wait for it");
      if (holder && !in_use) {
        add("of " + holder->words + ", which is gone", "the next launch that saves here takes it");
      }
    } else if (name == kLatest) {
      if (!latest()) add("points at no step that is here", "the next save replaces it");
    } else if (name.starts_with(kDamaged)) {
      add("set aside, as it did not verify", "remove it with rm -r when nobody needs it");
    } else if (name.starts_with(kStreak)) {
      add("set aside, as it lies in a streak of skipped steps",
          "remove it with rm -r when nobody needs it");
    } else if (!step_in(name)) {
      add("is not of a checkpoint", "move it away if nobody needs it here");
    } else if (is_empty_folder(name)) {
      add("a step's name without its files", collected);
    } else if (!holds_manifest(name)) {
      add("a step without a manifest, which no run goes on from", "remove it with rm -r");
    }
  }
  return left;
}

bool Store::holds_manifest(const std::string& name) const {
  const OpenFile folder(
      openat(root_.descriptor(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  return folder && fstatat(folder.descriptor(), kManifestName, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace zero::checkpoint
