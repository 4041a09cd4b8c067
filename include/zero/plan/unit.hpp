#pragma once
/// A unit of a plan: parameters that are gathered, reduced and updated together.

#include <cstdint>
#include <string>
#include <vector>

#include "zero/plan/request.hpp"

namespace zero::plan {

/// The place of a parameter in its unit, in elements.
struct UnitParameter {
  int32_t parameter;  ///< index in graph.parameters
  int64_t begin;      ///< multiple of 64
  int64_t numel;
};

struct Unit {
  std::string name;
  std::vector<UnitParameter> parameters = {};
  int64_t numel = 0;        ///< padded to a multiple of ranks * 2048
  int64_t shard_numel = 0;  ///< numel / ranks
  int weight_copies = 1;    ///< groups of ranks; weight_shard_numel() is as many shards
  bool frozen = false;      ///< not trained: of the buffers below it has only `weight`
  bool borrowed = false;    ///< see graph::Parameter
  // Persistent buffers; -1: none.
  int32_t weight = -1, low = -1, gradient = -1;
  std::vector<int32_t> states = {};  ///< in the order of Request::optimizer
  /// Copies of updated() in host memory, read from a disk before the body that updates them; empty:
  /// none.
  std::vector<int32_t> ahead = {};
  /// Second copies of updated() in host memory, if the unit is updated there before the norm is
  /// known. The weight's copy holds no state. `turn_clocks` chooses the copies that are the states.
  std::vector<int32_t> second = {};
  int32_t turns = -1;
  bool weight_sharded = false;         ///< stage 3: `weight` holds only this rank's weight shard
  bool optimizer_sharded = false;      ///< stages 1 to 3; equals weight_sharded in a frozen unit
  Tier weight_home = Tier::device;     ///< tier of `weight`
  Tier optimizer_home = Tier::device;  ///< tier of `low` and states
  bool updated_on_device = false;      ///< true: on the device despite another home

  /// Returns the elements of a rank's weight shard.
  int64_t weight_shard_numel() const { return shard_numel * weight_copies; }
  Groups groups() const {
    const int ranks = int(numel / shard_numel);
    return {ranks, ranks / weight_copies};
  }
  /// True if ranks exchange their parts of the weight after an update.
  bool is_joined() const {
    return !frozen && optimizer_sharded && (!weight_sharded || weight_copies > 1);
  }
  bool is_joined_away() const { return is_joined() && weight_home != Tier::device; }
  /// Returns the buffers that an update changes in this unit, if it is trained: weight, low and
  /// states.
  std::vector<int32_t> updated() const {
    std::vector<int32_t> buffers = {weight, low};
    buffers.insert(buffers.end(), states.begin(), states.end());
    return buffers;
  }
  /// Returns the tier in whose memory the optimizer updates this unit and its gradient waits.
  Tier optimizer_site() const {
    return optimizer_home == Tier::device || updated_on_device ? Tier::device : Tier::host;
  }
  /// True if the device needs a copy of this whole unit before an op can read its weights.
  bool is_fetched() const { return weight_sharded || weight_home != Tier::device; }
  bool is_speculated() const { return turns >= 0; }
  /// True if the operands of this unit's update or its new weight move between tiers.
  bool is_moved() const {
    return !frozen && (optimizer_home != Tier::device || weight_home != Tier::device);
  }
};

}  // namespace zero::plan
