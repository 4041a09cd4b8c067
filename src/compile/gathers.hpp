#pragma once
/// When units are needed: which ops read a unit's weights or write its gradients, and over which
/// stretches of the body a unit has to be gathered (stage 3).

#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// The units whose parameters each op of a graph reads, and whose gradients it writes.
struct UnitUses {
  std::vector<std::vector<int32_t>> reads;
  std::vector<std::vector<int32_t>> gradients;
  std::vector<int32_t> first_gradient;  ///< [units] op that first writes a gradient of the unit
  std::vector<int32_t> last_gradient;   ///< [units] op after which the unit's gradients are whole
};

UnitUses find_uses(const graph::Graph& graph);

/// Unit `unit` is gathered for the ops at positions first to last of the unrolled body; `ahead` is
/// the position before which its collective is issued.
struct Gather {
  int32_t unit;
  int32_t first;
  int32_t last;
  int32_t ahead = 0;
};

/// Stretches of use in order of `first`, over `micro_batches` runs of the graph's ops. A unit is
/// kept from one use to the next if few enough elements are used in between (keep_distance_numel),
/// if it is small (keep_below_numel), and while no more than live_numel elements are gathered.
std::vector<Gather> find_gathers(const Request& request, const std::vector<Unit>& units,
                                 const UnitUses& uses, int micro_batches);

/// One entry a unit, at its first use: where stages 0 to 2 update it.
std::vector<Gather> find_first_uses(const std::vector<Unit>& units, const UnitUses& uses);

struct Prefetch {
  int64_t ahead_numel;  ///< elements issued before their use, at least one unit; 0: on demand
  int64_t live_numel;   ///< gathered at one time, with those in use; nothing is issued beyond it
  /// Positions from being issued to the last use at most: in a loop the bytes of a unit are needed
  /// again then.
  int32_t longest = INT32_MAX;
};

/// Sets `ahead`.
void place_prefetch(const std::vector<Unit>& units, const Prefetch& prefetch,
                    std::vector<Gather>& gathers);

}  // namespace zero::plan
