/// The part of Store that says what lies in its folder and is no checkpoint.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "io/checkpoint/step_names.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/store.hpp"

namespace zero::checkpoint {

/// Lists what is no checkpoint. If the lock is held, its holder may still finish what looks
/// unfinished.
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
