#pragma once
/// Streaks: attempts in a row that were skipped, because they were not finite. Weights do not
/// change in a streak, so no checkpoint of one leads out of it, nor does the one after which it
/// began.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/io/checkpoint/manifest.hpp"
#include "zero/kernels/step_state.hpp"
#include "zero/save/checkpointer.hpp"

namespace zero::save {

/// What one checkpoint says of the streak that it lies in.
struct StreakMark {
  int64_t step = 0;
  int64_t skipped = 0;  ///< attempts of a streak before it; 0: it is healthy

  bool is_healthy() const { return skipped == 0; }
};

StreakMark streak_mark(const RunConfig& config, int64_t step, const kernels::StepState& state);

/// Adds the fact "healthy".
void add_streak(const StreakMark& mark, Facts& facts);

/// The reverse. A checkpoint of a release that did not store the fact is judged by its count of
/// skipped steps, unless it is of fp16, whose loss scale may have been dynamic.
StreakMark streak_in(const checkpoint::Manifest& manifest);

/// The newest of the checkpoints, which stand in ascending order, that is healthy and after which
/// no streak began: the attempt after it was applied, as the next checkpoint shows. None where no
/// checkpoint has shown this yet.
std::optional<int64_t> newest_proven(std::span<const StreakMark> marks);

/// The checkpoint to go back to from a streak: newest_proven(), or else the newest healthy one.
std::optional<int64_t> before_streak(std::span<const StreakMark> marks);

/// What a Checkpointer remembers.
struct StreakRecord {
  bool is_read = false;               ///< from the folder, before the first save
  std::vector<StreakMark> committed;  ///< on rank 0: of checkpoints that are there, ascending
  StreakMark saving;                  ///< the one under way
  std::set<int64_t> stuck;            ///< steps whose trial has failed
};

}  // namespace zero::save
