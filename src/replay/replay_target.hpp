#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/replay/replay.hpp"

namespace zero::replay {

/// The steps to replay and what they begin with, alike on every rank.
struct Target {
  std::string folder;                     ///< of the run
  std::string root;                       ///< of its checkpoints
  std::vector<int64_t> checkpoints = {};  ///< steps in `root`, ascending
  int64_t from = 0, to = 0;
  int64_t ranks = 1;   ///< of the launch that took step from + 1
  int64_t stage = -1;  ///< likewise; -1 if only the checkpoint tells

  std::string checkpoint(int64_t step) const;
  bool has_checkpoint(int64_t step) const;
  /// Returns the newest checkpoint from `from` to `step`.
  int64_t newest_checkpoint(int64_t step) const;
};

/// Looks at the run on the first rank. A run that is not reproducible is replayed to the end of the
/// launch that took step from + 1, with a line that says so if the run went on. Throws Ended:
/// kUsage, kInput, kNoCheckpoint. Collective.
Target find_target(launch::Session& session, const Request& request);

/// Returns the fault of a checkpoint from which no state can be loaded, the same on every rank; ""
/// if it is whole. Each rank checks its part of the files. Collective.
std::string fault_of(launch::Session& session, const Target& target, int64_t step);

/// Throws Error(kUsage) with the first key that the run alone decides.
void require_free_keys(const std::vector<std::string>& overrides);

}  // namespace zero::replay
