#pragma once
/// The memory of a rank's tiers, and how its collectives reach it.

#include <array>
#include <memory>
#include <vector>

#include "zero/run/executor.hpp"

namespace zero::run {

/// The kind of host memory that a plan wants: pinned, unless its settings ask for memory that is
/// not.
Place host_place(const plan::Plan& plan);

/// One arena for each tier of a plan that lies in memory, of exactly the plan's bytes and with
/// every page touched. The device's is of the kind that the communicators ask for.
class TierArenas {
 public:
  /// `comms` outlive it. `device`, unless it is empty, is taken for the device's, as it is. Not
  /// collective. Throws Error(kDoesNotFit).
  TierArenas(const plan::Plan& plan, const LaneComms& comms, Arena device = {});

  /// Lets every communicator know the device's arena: collective, once all ranks have theirs.
  void open_windows();

  const Arena& of(plan::Tier tier) const { return arenas_[size_t(tier)]; }

 private:
  LaneComms comms_;
  std::array<Arena, plan::kTiers> arenas_;
  std::vector<std::unique_ptr<comm::Window>> windows_;  // end before the arenas
};

}  // namespace zero::run
