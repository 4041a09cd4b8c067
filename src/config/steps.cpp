#include "zero/config/steps.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

constexpr int64_t kMostVisits = int64_t(1) << 62;

void check_fits(const RunConfig& config, const std::string& found) {
  const int64_t steps = config.run.steps, total = config.scheduler.total_num_steps;
  if (config.run.stop_at > steps) {
    refuse_settings({"run.stop_at"}, "the run stops at step ", config.run.stop_at, ", but ", found,
                    "; write at most ", steps, ", or 0");
  }
  if (needs_total(config.scheduler.type) && total > 0 && total < steps) {
    refuse_settings({"scheduler.total_num_steps"}, "the schedule ends at step ", total, ", but ",
                    found, "; write \"auto\" or at least ", steps);
  }
  if (const std::string what = long_decay(config); !what.empty()) {
    refuse_settings({"scheduler.wsd_decay_steps"}, what, " (", found, ")");
  }
}

}  // namespace

DataCursor cursor_before(int64_t step, const DataCursor& done, int64_t train_batch_size) {
  const int64_t samples = done.samples + (step - 1 - done.steps) * train_batch_size;
  return {.steps = step - 1, .samples = std::max<int64_t>(samples, 0)};
}

int64_t last_step(const RunConfig& config) {
  return config.run.stop_at ? config.run.stop_at : config.run.steps;
}

std::string resolve_steps(RunConfig& config, int64_t samples, int64_t train_batch_size,
                          const DataCursor& done) {
  SessionConfig& run = config.run;
  if (run.epochs == 0) return "";
  ZERO_REQUIRE(samples >= 1 && train_batch_size >= 1, samples, " samples in batches of ",
               train_batch_size);
  if (samples > kMostVisits / run.epochs) {
    refuse_settings({"run.epochs"}, counted(run.epochs, "epoch"), " of ",
                    counted(samples, "sample"), " are too many to count; write at most ",
                    kMostVisits / samples);
  }
  const int64_t visits = std::max<int64_t>(samples * run.epochs - done.samples, 0);
  run.steps = done.steps + visits / train_batch_size + (visits % train_batch_size != 0);
  check_fits(config, text(counted(run.epochs, "epoch"), " of ", counted(samples, "sample"), " are ",
                          counted(run.steps, "step"), done.steps ? ", those to come of " : " of ",
                          train_batch_size));
  // A schedule that says its own length was judged when it was read.
  if (config.scheduler.total_num_steps > 0) return "";
  const std::string warning = long_warmup(config);
  return warning.empty() ? "" : "scheduler.warmup_num_steps: " + warning;
}

}  // namespace zero
