#pragma once
/// Streaks are attempts in a row that were skipped because they were not finite. Weights do not
/// change in a streak, so neither its checkpoints nor the last one before it lead out of it.

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

/// The part of a streak before one checkpoint.
struct StreakMark {
  int64_t step = 0;
  int64_t skipped = 0;  ///< attempts of a streak before it; 0: healthy

  bool is_healthy() const { return skipped == 0; }
};

StreakMark streak_mark(const RunConfig& config, int64_t step, const kernels::StepState& state);

/// Adds the fact "healthy".
void add_streak(const StreakMark& mark, Facts& facts);

/// Returns the mark of a checkpoint. Without the fact, the count of skipped steps decides, except
/// in fp16, whose loss scale may have been dynamic.
StreakMark streak_in(const checkpoint::Manifest& manifest);

/// Returns the newest healthy checkpoint after which no streak began: the next checkpoint shows
/// that the attempt after it was applied. Returns none if no checkpoint shows this. REQUIRES:
/// `marks` ascend.
std::optional<int64_t> newest_proven(std::span<const StreakMark> marks);

/// Returns the checkpoint to go back to from a streak: newest_proven(), else the newest healthy
/// one.
std::optional<int64_t> before_streak(std::span<const StreakMark> marks);

/// The memory of a Checkpointer.
struct StreakRecord {
  bool is_read = false;               ///< the folder was read, before the first save
  std::vector<StreakMark> committed;  ///< on rank 0: checkpoints in the folder, ascending
  StreakMark saving;                  ///< mark of the save under way
  std::set<int64_t> stuck;            ///< steps whose trial has failed
};

}  // namespace zero::save
