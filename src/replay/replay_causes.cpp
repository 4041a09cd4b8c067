#include "src/replay/replay_causes.hpp"

#include <algorithm>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"
#include "zero/io/checkpoint/store.hpp"

namespace zero::replay {
namespace {

using checkpoint::Store;

/// True if two records of arithmetic, "arithmetic: A, 1 threads a rank, now B, 2 threads a rank",
/// differ in their threads alone.
bool differ_in_threads(std::string_view change) {
  constexpr std::string_view kHead = "arithmetic: ", kNow = ", now ";
  const size_t now = change.find(kNow);
  if (!change.starts_with(kHead) || now == std::string_view::npos) return false;
  const auto without_threads = [](std::string_view record) {
    return record.substr(0, record.rfind(", "));
  };
  return without_threads(change.substr(kHead.size(), now - kHead.size())) ==
         without_threads(change.substr(now + kNow.size()));
}

}  // namespace

bool may_change_bits(const std::string& change, const RunConfig& config) {
  // A batch that is left open has a number here.
  constexpr std::string_view kNever[] = {"train_batch_size ",
                                         "train_micro_batch_size_per_gpu ",
                                         "gradient_accumulation_steps ",
                                         "data.train ",
                                         "data.validation ",
                                         "data.tokenizer ",
                                         "data.max_validation_samples ",
                                         "numerics.max_bad_steps "};
  const auto begins = [&](std::string_view key) { return change.starts_with(key); };
  if (std::ranges::any_of(kNever, begins)) return false;
  if (begins("run.steps ") || begins("run.epochs "))
    return needs_total(config.scheduler.type) && config.scheduler.total_num_steps == 0;
  return !config.numerics.reproducible || !differ_in_threads(change);
}

std::optional<save::Facts> facts_of(const Target& target, const RecordedLaunch& launch) {
  const Store store(Store::Options{.root = target.root});
  for (const int64_t step : target.checkpoints) {
    if (step <= launch.begin || step > launch.end) continue;
    try {
      return store.verify(step, false).facts;
    } catch (const Error&) {  // a damaged one tells nothing, another one may
    }
  }
  return {};
}

std::vector<Cause> causes_of(const Target& target, const train::Rerun& rerun) {
  std::vector<Cause> causes;
  for (int64_t step = target.from + 1; step <= target.to;) {
    const RecordedLaunch launch = launch_of(target.folder, step);
    const std::optional<save::Facts> facts = facts_of(target, launch);
    // The settings of the replay are the last launch's.
    if (!facts && !launch.is_last)
      causes.push_back({step, text("no checkpoint tells the settings of step ", step)});
    for (const std::string& change : facts ? rerun.changes(*facts) : std::vector<std::string>())
      if (may_change_bits(change, rerun.config())) causes.push_back({step, change});
    if (launch.end >= target.to) break;
    step = launch.end + 1;
  }
  return causes;
}

}  // namespace zero::replay
