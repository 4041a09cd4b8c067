#pragma once

#include <cstdint>
#include <string>

#include "zero/config/run_config.hpp"

namespace zero {

/// A training has no more steps: each has its learning rate in a table.
inline constexpr int64_t kMostRunSteps = 100'000'000;

/// The last step of this launch unless a signal comes: run.stop_at if it is given, else run.steps.
int64_t last_step(const RunConfig& config);

/// How far a training has come in its data, in batches that may have had several sizes.
struct DataCursor {
  int64_t steps = 0;    ///< taken
  int64_t samples = 0;  ///< consumed by all ranks in these steps

  bool operator==(const DataCursor&) const = default;
};

/// The same where `step` is about to be taken, all steps since `done` with batches of one size.
/// Before a step that `done` already counts: not below 0, and otherwise of no meaning.
DataCursor cursor_before(int64_t step, const DataCursor& done, int64_t train_batch_size);

/// Fills in run.steps of a run that says run.epochs instead, once its data is known: the fewest
/// steps that visit every one of `samples` epochs times, those that are done and
/// ceil((epochs x samples - done.samples) / train_batch_size) more. Every step has a whole batch:
/// the last one runs on into the next epoch. Leaves a run alone that says its steps. Returns a
/// warning where the warm-up outlasts the steps found, else "". Throws SettingsError if run.stop_at
/// or scheduler.total_num_steps does not fit the steps found.
std::string resolve_steps(RunConfig& config, int64_t samples, int64_t train_batch_size,
                          const DataCursor& done = {});

}  // namespace zero
