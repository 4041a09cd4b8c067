#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/config/optimizer_keys.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::plan {

/// A kind of memory. nvme is a disk, whose bytes no kernel can touch.
enum class Tier : uint8_t { device, host, nvme };
inline constexpr int kTiers = 3;
/// Bytes by tier. If the device uses host memory, they count as `device`.
using TierBytes = std::array<int64_t, kTiers>;
const char* name_of(Tier tier);

/// The ranks that run a collective together, or among which an array is cut. A group's ranks are
/// neighbours that hold all weights between them. The ranks of one place in all groups are across.
enum class Team : uint8_t { all, group, across, count_ };
inline constexpr int kTeams = int(Team::count_);
inline constexpr Team kAllTeams[] = {Team::all, Team::group, Team::across};
const char* name_of(Team team);

/// A division of ranks into groups of neighbours. Rank r is rank r % group_ranks of group
/// r / group_ranks.
struct Groups {
  int ranks = 1;
  int group_ranks = 1;  ///< divides `ranks`

  int count() const { return ranks / group_ranks; }
  /// Returns the ranks of a team.
  int ranks_of(Team team) const {
    if (team == Team::all) return ranks;
    return team == Team::group ? group_ranks : count();
  }
  /// Returns the number of a rank in its team.
  int place(Team team, int rank) const {
    if (team == Team::all) return rank;
    return team == Team::group ? rank % group_ranks : rank / group_ranks;
  }
  /// Returns the number of a rank's team among all teams of the kind.
  int part(Team team, int rank) const {
    if (team == Team::all) return 0;
    return team == Team::group ? rank / group_ranks : rank % group_ranks;
  }
  /// Returns the number of the shard of optimizer states that a rank holds. A weight shard is
  /// count() such shards, one for each rank that holds a copy of it.
  int shard_of(int rank) const {
    return place(Team::group, rank) * count() + place(Team::across, rank);
  }
  /// Returns the rank that holds a shard of optimizer states.
  int holder_of(int64_t shard) const {
    return int(shard % count() * group_ranks + shard / count());
  }
};

/// The input of a plan beside the graphs. Equal requests and graphs give equal plans on every rank,
/// so no member depends on the rank.
struct Request {
  int stage = 0;  ///< ZeRO stage 0 to 3
  int ranks = 1;
  /// Stage 3: ranks that hold all weights between them, of which each group has a copy. 0: all.
  int group_ranks = 0;
  int micro_batches = 1;  ///< per rank and step: gradient accumulation
  /// Steps with at most this many micro-batches are unrolled. Longer steps loop over the
  /// micro-batches in the middle. 0: 16, or 64 if every micro-batch waits for a disk, because seams
  /// of a loop then cost more.
  int most_written = 0;
  Dtype compute = Dtype::f32;
  OptimizerForm optimizer = form_of({});
  float weight_decay = 0.0f;
  bool reproducible = false;   ///< balanced sum tree over global micro-batches (doc/numerics.md)
  bool gradient_fp32 = false;  ///< numerics.gradient_dtype = "fp32": final sums are not rounded
  int threads = 1;             ///< threads of the compute lane; determines scratch
  /// True: at stages 0 and 1 ranks exchange sums of several micro-batches in bf16 and add them in
  /// fp32. For bf16 runs only; not in reproducible mode or with unrounded gradients.
  bool wire_bf16 = false;
  /// True: products add weight gradients directly to the fp32 sum of several micro-batches if a
  /// rank holds the whole sum. Not in reproducible mode.
  bool sums_in_products = false;

  /// True: the plan can repeat a micro-batch of the next rank and digests its gradients.
  bool audits = false;

  bool overlap = true;  ///< true: collectives run beside compute; false: one at a time
  int64_t reduce_bucket_numel = 500'000'000;
  int64_t gather_bucket_numel = 500'000'000;
  int64_t prefetch_numel = 50'000'000;  ///< stage 3: gathered ahead of use, at least one unit
  int64_t keep_below_numel = 0;         ///< stage 3: units of at most so many stay gathered
  int64_t keep_distance_numel = 0;      ///< stage 3: kept if at most so many are used in between
  int64_t live_numel = 1'000'000'000;   ///< stage 3: kept while at most so many are gathered

  Tier optimizer_home = Tier::device;  ///< stages 1 to 3: home of masters' low bits and states
  Tier weight_home = Tier::device;     ///< stage 3: home of weights
  double optimizer_share = 1;  ///< share of units with this home; other states stay on the device
  /// Share of units with states beside the device that are still updated on the device. Their
  /// states move there and back.
  double device_update_share = 0;
  /// Share of host-updated units that are updated before the norm is known.
  double speculated_share = 0;
  int staged_units = 4;     ///< units staged at the same time
  bool pinned_host = true;  ///< on a device: its host memory is pinned

  Tier activation_home = Tier::device;  ///< home of recomputation's inputs between the passes
  int staged_activations = 2;           ///< blocks whose inputs are in transfer at the same time

  Groups groups() const { return {ranks, group_ranks == 0 ? ranks : group_ranks}; }
  bool has_groups() const { return groups().count() > 1; }
  /// True if sums of gradients cross between groups once a step. In reproducible mode they do so if
  /// a group's sum is a subtree of the sum tree. Otherwise they cross in each micro-batch.
  bool crosses_once() const;
  /// Returns the number, within a step, of a rank's micro-batch. A group's are neighbours if the
  /// order of sums wants it.
  int64_t number_of(int64_t micro_batch, int rank) const;
};

}  // namespace zero::plan
