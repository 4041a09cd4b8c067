#pragma once
/// What bytes hold as verify follows a body: activations of a micro-batch, versions of states.

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "zero/plan/lifetimes.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Which activation some bytes are of, and of which micro-batch.
struct Computed {
  graph::TensorId tensor = graph::kNone;  ///< kNone: bytes that are not followed
  int32_t micro = 0;
  bool operator==(const Computed&) const = default;
};

/// What the graph says of an operand of an op of a micro-batch: none of an op that computes
/// nothing, nor of scratch.
inline Computed computed_of(const Plan& plan, const Body& body, const PlanOp& op, int32_t micro,
                            size_t operand) {
  if (op.kind != Kind::compute) return {};
  const graph::Graph& graph = plan.graphs[size_t(body.graph)];
  const graph::Op& made = graph.ops[size_t(op.graph_op)];
  const size_t inputs = made.inputs.size();
  if (operand >= inputs + made.outputs.size()) return {};
  const graph::TensorId tensor =
      operand < inputs ? made.inputs[operand] : made.outputs[operand - inputs];
  const bool follows = tensor != graph::kNone && graph[tensor].role == graph::Role::activation;
  return follows ? Computed{tensor, micro} : Computed{};
}

/// Which update of a state some bytes are of.
struct Version {
  int32_t state = -1;  ///< the buffer where it rests; -1: bytes that are not followed
  int32_t number = 0;  ///< updates in this body
  bool operator==(const Version&) const = default;
};

/// Follows weights and states of the optimizer through a body, wherever they are copied to: every
/// op that writes them makes a new version. So an update that does not come home, a copy from
/// before an update, and a copy of something else are all told from what should be there.
class Versions {
 public:
  explicit Versions(const Plan& plan) : plan_(plan), newest_(plan.buffers.size(), kIgnored) {
    for (const Unit& unit : plan.units) {
      for (int32_t state : unit.updated()) follow(state);
    }
    for (const Buffer& buffer : plan.buffers) follow(buffer.copy_of);
  }

  bool follows(int32_t buffer) const { return newest_[size_t(buffer)] != kIgnored; }
  /// What a persistent buffer must hold whenever no body runs.
  Version latest(int32_t buffer) const {
    const int32_t copied = plan_.buffers[size_t(buffer)].copy_of;
    const int32_t state = copied < 0 ? buffer : copied;
    return follows(state) ? Version{state, newest_[size_t(state)]} : Version{};
  }
  bool is_latest(const Version& version) const {
    return version.state < 0 || version.number == newest_[size_t(version.state)];
  }
  /// The version that writing a state makes; none for -1.
  Version next(int32_t state) {
    return state < 0 ? Version{} : Version{state, ++newest_[size_t(state)]};
  }

 private:
  static constexpr int32_t kIgnored = -1;
  void follow(int32_t buffer) {
    if (buffer >= 0) newest_[size_t(buffer)] = 0;
  }

  const Plan& plan_;
  std::vector<int32_t> newest_;  ///< [buffers]
};

/// Turns (TurnClocks), by lane; -1: none.
using Readers = std::array<int32_t, kLanes>;

inline Readers nobody() {
  Readers readers;
  readers.fill(-1);
  return readers;
}

/// A stretch of an arena: whose bytes it holds and who may still be touching it.
struct Content {
  int64_t end = 0;
  int32_t buffer = -1;  ///< -1: nothing defined
  int32_t writer = -1;
  Readers readers = {};  ///< the latest reader a lane since the write
  Version version = {};
  Computed computed = {};
  bool counted = false;  ///< in a slot of a counter: the sum of a group of micro-batches
};

/// What all arenas of a plan hold at one place of a body.
class Contents {
 public:
  using Stretches = std::map<int64_t, Content>;  ///< by where they begin

  /// Nothing is defined.
  explicit Contents(const Plan& plan) {
    for (size_t tier = 0; tier < kTiers; ++tier) {
      tiers_[tier][0] = {.end = plan.arena_bytes[tier], .readers = nobody()};
    }
  }

  const Stretches& stretches(size_t tier) const { return tiers_[tier]; }

  /// Calls visit(content) for the stretches of an extent, until it returns false.
  template <class Visit>
  void visit(const Extent& extent, const Visit& visit) const {
    const Stretches& stretches = tiers_[size_t(extent.tier)];
    auto at = std::prev(stretches.upper_bound(extent.begin));
    for (; at != stretches.end() && at->first < extent.end; ++at) {
      if (!visit(at->second)) return;
    }
  }

  /// Calls change(content) for them, cut so that they are the extent and no more.
  template <class Change>
  void change(const Extent& extent, const Change& change) {
    Stretches& stretches = cut_at(extent);
    const auto last = stretches.lower_bound(extent.end);
    for (auto at = stretches.find(extent.begin); at != last; ++at) change(at->second);
  }

  /// From here on the extent is made up of whole stretches.
  void cut(const Extent& extent) { cut_at(extent); }

  /// `content` without its end and readers.
  void put(const Extent& extent, Content content) {
    Stretches& stretches = cut_at(extent);
    stretches.erase(stretches.find(extent.begin), stretches.lower_bound(extent.end));
    content.end = extent.end;
    content.readers = nobody();
    stretches[extent.begin] = content;
  }

 private:
  static void cut(Stretches& stretches, int64_t at) {
    const auto holder = std::prev(stretches.upper_bound(at));
    if (holder->first == at || at >= holder->second.end) return;
    Content upper = holder->second;
    holder->second.end = at;
    stretches[at] = upper;
  }

  Stretches& cut_at(const Extent& extent) {
    Stretches& stretches = tiers_[size_t(extent.tier)];
    cut(stretches, extent.begin);
    cut(stretches, extent.end);
    return stretches;
  }

  std::array<Stretches, kTiers> tiers_;
};

}  // namespace zero::plan
