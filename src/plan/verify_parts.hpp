#pragma once
/// The parts of verify(), which verify.cpp has: turn_clocks.cpp, slot_schedule.cpp,
/// live_buffers.cpp, team_check.cpp, forms.cpp.

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/plan/lifetimes.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::plan {

/// The findings of verify, up to a limit.
class Findings {
 public:
  explicit Findings(int limit) : limit_(size_t(limit)) {}
  template <class... Parts>
  void add(const Parts&... parts) {
    if (list_.size() < limit_) list_.push_back(text(parts...));
  }
  int limit() const { return int(limit_); }
  size_t count() const { return list_.size(); }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  size_t limit_;
  std::vector<std::string> list_;
};

/// Reports buffers that share bytes while both are in use. A transient buffer is in use from the
/// first to the last op with it. A persistent buffer always is, even if a body writes it anew,
/// because gaps between a unit's tensors stay zero. A copy (Buffer::copy_of) is unused from the
/// last op with it to the op that fills it anew.
void check_apart(const Plan& plan, BodyId body, Findings& findings);

/// Follows what each rank holds of a unit and over which ranks gradients are summed. Reports
/// collectives of another team than cuts their arrays, an update of another shard, an update whose
/// result ranks do not join, and a gradient that is no sum over all ranks. A single rank has none.
void check_teams(const Plan& plan, BodyId body, Findings& findings);

// Forms of a graph (Plan::shorter) in verify.

/// A pair of forms: micro-batches of even number run in one, the others in the other.
struct FormPair {
  size_t even = 0, odd = 0;
  size_t of(int32_t micro) const { return micro % 2 == 0 ? even : odd; }
};

/// Returns the pairs that represent all runs of a body, the longest form's first. A micro-batch
/// sees only state of the previous one, so all ordered pairs suffice, or all forms if a body has
/// one micro-batch.
std::vector<FormPair> form_pairs(const Plan& plan, const Body& body);

/// Returns the operands of an op in a form of its graph.
std::vector<Operand> operands_in_form(const Plan& plan, const Body& body, const PlanOp& op,
                                      size_t form);

/// Reports a shorter form that differs from the longest in an op, tensor, parameter or gradient.
/// Also reports an op that reaches beyond its operands in the body.
void check_forms(const Plan& plan, Findings& findings);

/// The clocks of a body's ops in order. For each op they hold the ops of all lanes that have
/// certainly finished when it starts. Turns are numbered from 0 as added. A loop may be added with
/// fewer rounds than it has.
class TurnClocks {
 public:
  explicit TurnClocks(const Body& body);

  /// Adds a turn. Returns the fault of its waits or its number; "" if none.
  std::string add(const Turn& turn);
  /// Declares that later turns follow the loop, of which `rounds` rounds were added.
  void leave_loop(int64_t rounds) { rounds_ = Rounds(body_, rounds); }

  const Turn& turn(int32_t i) const { return turns_[size_t(i)]; }
  const PlanOp& op(int32_t i) const { return body_.ops[size_t(turn(i).op)]; }
  int32_t micro(int32_t i) const { return micro_of(body_, op(i), turn(i).round); }
  bool happens_before(int32_t earlier, int32_t later) const {
    return started_[size_t(later)][size_t(op(earlier).lane)] >= number_[size_t(earlier)];
  }
  std::string describe(int32_t i) const;

  /// Marks the begin of a round.
  void mark_seam();
  /// Appends to `key` the knowledge of later turns about turn i (-1: none) at the begin of a round.
  /// Equal keys mean equal knowledge. The key holds the distance of the turn. For a turn older than
  /// the previous round it holds the first op of each lane that knows its end.
  void add_seen(int32_t i, std::vector<int64_t>& key) const;
  /// Appends in this form the knowledge of the previous round's ops, because later ops may wait for
  /// them.
  void add_knowledge(std::vector<int64_t>& key) const;

 private:
  using Clock = std::array<int64_t, kLanes>;

  Clock finished(int32_t i) const;
  bool reaches_too_far(const Wait& wait, const Turn& turn) const;

  const Body& body_;
  Rounds rounds_;
  std::vector<Turn> turns_;
  std::vector<int64_t> number_;  ///< [turns] finished ops of its lane after it
  std::vector<Clock> started_;   ///< [turns]
  std::array<std::vector<int32_t>, kLanes> of_lane_;
  std::array<Clock, kLanes> known_{};  ///< after each lane's last op
  Clock counts_{}, last_counts_{};     ///< ops of each lane at the last two seams
};

// Contents of bytes as verify follows a body: activations of micro-batches, versions of states.

/// The activation and micro-batch that bytes belong to.
struct Computed {
  graph::TensorId tensor = graph::kNone;  ///< kNone: bytes not followed
  int32_t micro = 0;
  bool operator==(const Computed&) const = default;
};

/// Returns the graph's tensor for an operand of an op; empty for scratch and for ops outside the
/// graph.
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

/// The update of a state that bytes belong to.
struct Version {
  int32_t state = -1;  ///< home buffer; -1: bytes not followed
  int32_t number = 0;  ///< updates in this body
  bool operator==(const Version&) const = default;
};

/// A tracker of weights and optimizer states through a body and all their copies. Every write makes
/// a new version. This exposes updates that are not stored, copies older than an update, and copies
/// of something else.
class Versions {
 public:
  explicit Versions(const Plan& plan) : plan_(plan), newest_(plan.buffers.size(), kIgnored) {
    for (const Unit& unit : plan.units) {
      for (int32_t state : unit.updated()) follow(state);
    }
    for (const Buffer& buffer : plan.buffers) follow(buffer.copy_of);
  }

  bool follows(int32_t buffer) const { return newest_[size_t(buffer)] != kIgnored; }
  /// Returns the version that a persistent buffer must hold while no body runs.
  Version latest(int32_t buffer) const {
    const int32_t copied = plan_.buffers[size_t(buffer)].copy_of;
    const int32_t state = copied < 0 ? buffer : copied;
    return follows(state) ? Version{state, newest_[size_t(state)]} : Version{};
  }
  bool is_latest(const Version& version) const {
    return version.state < 0 || version.number == newest_[size_t(version.state)];
  }
  /// Returns the version that a write of a state makes; empty for -1.
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

/// Turns (TurnClocks) by lane; -1: none.
using Readers = std::array<int32_t, kLanes>;

inline Readers nobody() {
  Readers readers;
  readers.fill(-1);
  return readers;
}

/// The content of a stretch of an arena, with the ops that may still touch it.
struct Content {
  int64_t end = 0;
  int32_t buffer = -1;  ///< -1: undefined
  int32_t writer = -1;
  Readers readers = {};  ///< latest reader per lane since the write
  Version version = {};
  Computed computed = {};
  bool counted = false;  ///< in a slot of a counter: sum of a group of micro-batches
};

/// The contents of all arenas at a place of a body.
class Contents {
 public:
  using Stretches = std::map<int64_t, Content>;  ///< by begin

  /// Begins with undefined contents.
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

  /// Calls change(content) for the stretches of an extent, cut to its borders.
  template <class Change>
  void change(const Extent& extent, const Change& change) {
    Stretches& stretches = cut_at(extent);
    const auto last = stretches.lower_bound(extent.end);
    for (auto at = stretches.find(extent.begin); at != last; ++at) change(at->second);
  }

  /// Cuts stretches at the borders of the extent.
  void cut(const Extent& extent) { cut_at(extent); }

  /// Stores `content` for the extent. Its end and readers are ignored.
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

/// The slots of counters (Plan::counters) that are full in each round of a loop.
///
/// Slot l holds the sum of 2^l micro-batches until the next 2^l are summed. A round counts one pair
/// of micro-batches. A pair whose number ends in c - 1 ones carries c times: it is summed in slot
/// c, which is empty. Then slots 1 to c - 1, all full, are added in this order, so the sum is one
/// balanced tree. No slot moves. The full slots in front of a round are the ones in the binary
/// number of its pair. So one list of ops with the same waits serves every round, and the pair's
/// number chooses the slots (PlanOp::counts).
///
/// A single round of each number of carries proves all. All state beside slots is equal in front of
/// every round, so the carries of earlier rounds are irrelevant. A round's work depends on c alone,
/// because slots above c keep their sums. A single lane touches the slots, and its order prevents
/// races with earlier rounds.
class SlotSchedule {
 public:
  /// Reads the counters of `plan`. REQUIRES: `plan` outlives the schedule.
  SlotSchedule(const Plan& plan, const Body& body);

  /// Returns the reason that the loop is no counter: rounds of other than one pair, a slot that
  /// another op or lane touches, a carry without all slots; "" if none.
  const std::string& wrong() const { return wrong_; }
  /// Returns the error text for a slot with wrong content in front of a round; "" if none.
  std::string fault(const Contents& contents, int64_t round) const;
  /// Returns the error text if an op that counts overwrites a sum, or adds to none; "" if neither.
  std::string fault(const Contents& contents, const Operand& operand) const;

  /// Returns the first round from `begin` on for each number of carries that occurs.
  std::vector<int64_t> one_for_each_carry(int64_t begin) const;

  /// Cuts the contents at the borders of slots.
  void cut(Contents& contents) const;
  /// Fills the slots as in front of a round. A single lane touches all slots of the loop. An op
  /// behind a unit's last carry ([units] turns) is therefore behind all of them.
  void fill(Contents& contents, int64_t round, const std::vector<int32_t>& last_carry) const;
  /// True if the byte of a tier's arena lies in a slot.
  bool lies_in_slot(size_t tier, int64_t offset) const;

 private:
  bool is_full(size_t index, int64_t round) const { return (first_pair_ + round) >> index & 1; }
  bool is_slot(int32_t buffer) const { return buffer >= 0 && is_slot_[size_t(buffer)]; }
  Extent extent(int32_t slot) const { return extent_of(plan_.buffers[size_t(slot)]); }
  std::string wrong_with(const PlanOp& op, const PlanOp& first) const;

  const Plan& plan_;
  int64_t rounds_;
  size_t levels_ = 0;
  int64_t first_pair_ = 0;
  std::vector<bool> is_slot_;                            ///< [buffers]
  std::array<std::map<int64_t, int64_t>, kTiers> ends_;  ///< end of each slot by its begin
  std::string wrong_;
};

}  // namespace zero::plan
