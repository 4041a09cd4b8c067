#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/replay/replay_records.hpp"
#include "src/replay/replay_target.hpp"
#include "zero/config/run_config.hpp"
#include "zero/train/rerun.hpp"

namespace zero::replay {

/// A change that may give the run's steps other bits here.
struct Cause {
  int64_t step = 0;    ///< first step that it may change
  std::string change;  ///< as Checkpointer::changes()
};

/// True if bits may depend on a change of Checkpointer::changes(). The fingerprint of the data
/// tells more than a path. `config` has the settings of the replay.
bool may_change_bits(const std::string& change, const RunConfig& config);

/// Returns the facts of a checkpoint that a launch saved; none if none is left that can be read.
std::optional<save::Facts> facts_of(const Target& target, const RecordedLaunch& launch);

/// Returns the known causes of other bits in the target's steps, by launch. Not collective.
std::vector<Cause> causes_of(const Target& target, const train::Rerun& rerun);

}  // namespace zero::replay
