/// The part of Store that removes old checkpoints.

#include <algorithm>

#include "io/checkpoint/step_names.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/files/files.hpp"

namespace zero::checkpoint {

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

/// Finishes what an earlier time has begun, where a sync or a removal has failed. Before a step
/// loses its files no loss of power may give it its name back.
void Store::finish_removing() {
  for (const std::string& name : names()) {
    if (!is_unique_name(name, kRemoving)) continue;
    sync_root();
    remove_now_or_later(name);
  }
}

}  // namespace zero::checkpoint
