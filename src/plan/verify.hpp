#pragma once
/// The parts of verify(): verify.cpp, turns.cpp, live_buffers.cpp, forms.cpp.

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

/// What verify has found, up to a limit.
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

/// Finds buffers that share bytes while both are in use. A transient one is in use from the first
/// to the last op that names it. What rests between bodies always is, also where a body writes it
/// anew: the gaps between a unit's tensors stay zero. A copy (Buffer::copy_of) is not in use
/// between the last op that names it and the one that then fills it anew.
void check_apart(const Plan& plan, BodyId body, Findings& findings);

// The forms of a graph (Plan::shorter) as verify sees them.

/// Two forms whose micro-batches take turns: those of even number run in one, the others in the
/// other.
struct FormPair {
  size_t even = 0, odd = 0;
  size_t of(int32_t micro) const { return micro % 2 == 0 ? even : odd; }
};

/// The pairs that show all that a body may run, that of the longest form first. What one
/// micro-batch finds of others is what the one before left, so each ordered pair of forms is
/// enough; where a body has one micro-batch, each form.
std::vector<FormPair> form_pairs(const Plan& plan, const Body& body);

/// What an op touches in a form of its graph.
std::vector<Operand> operands_in_form(const Plan& plan, const Body& body, const PlanOp& op,
                                      size_t form);

/// Finds what makes a shorter form other work than the longest: another op, tensor, parameter or
/// gradient, or an op of a body that reaches further than the body says.
void check_forms(const Plan& plan, Findings& findings);

/// What is known of a body's ops as they run one after the other: of each, which ops of all lanes
/// have finished for sure when it starts. Turns are numbered from 0 in the order in which they are
/// added; a loop may be added with fewer rounds than it has.
class TurnClocks {
 public:
  explicit TurnClocks(const Body& body);

  /// Adds a turn. Returns what is wrong with its waits or its number; "" if nothing is.
  std::string add(const Turn& turn);
  /// What is added from here on follows the loop, of which so many rounds were added.
  void leave_loop(int64_t rounds) { rounds_ = Rounds(body_, rounds); }

  const Turn& turn(int32_t i) const { return turns_[size_t(i)]; }
  const PlanOp& op(int32_t i) const { return body_.ops[size_t(turn(i).op)]; }
  int32_t micro(int32_t i) const { return micro_of(body_, op(i), turn(i).round); }
  bool happens_before(int32_t earlier, int32_t later) const {
    return started_[size_t(later)][size_t(op(earlier).lane)] >= number_[size_t(earlier)];
  }
  std::string describe(int32_t i) const;

  /// A round begins.
  void mark_seam();
  /// Adds to `key` what later turns can know about turn i (-1: none) when a round begins. Equal
  /// keys mean equal knowledge: how far back the turn is or, for a turn that is older than the
  /// round before, from where on each lane knows that it has finished.
  void add_seen(int32_t i, std::vector<int64_t>& key) const;
  /// Adds in this way what the ops of the round before know, because later ops may wait for them.
  void add_knowledge(std::vector<int64_t>& key) const;

 private:
  using Clock = std::array<int64_t, kLanes>;

  Clock finished(int32_t i) const;
  bool reaches_too_far(const Wait& wait, const Turn& turn) const;

  const Body& body_;
  Rounds rounds_;
  std::vector<Turn> turns_;
  std::vector<int64_t> number_;  ///< [turns] finished ops of its lane when it has
  std::vector<Clock> started_;   ///< [turns]
  std::array<std::vector<int32_t>, kLanes> of_lane_;
  std::array<Clock, kLanes> known_{};  ///< after the last op of each lane
  Clock counts_{}, last_counts_{};     ///< ops of each lane at the last two seams
};

// What bytes hold as verify follows a body: activations of a micro-batch, versions of states.

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

/// Which slots of counters (Plan::counters) a loop finds full in each round.
///
/// Slot l holds the sum of 2^l micro-batches until the next 2^l are summed. A round counts one pair
/// of micro-batches. A pair whose number ends in c - 1 ones carries c times: it is summed in slot
/// c, which is empty. Then slots 1 to c - 1, all full, are added in this order, so that the sum is
/// one balanced tree. No slot moves, and the slots that are full in front of a round are the ones
/// in the binary number of its pair. So one list of ops with the same waits serves every round:
/// which slots it names follows from the pair's number (PlanOp::counts).
///
/// One round of each number of carries is proof for all. Everything beside slots is in the same
/// state in front of every round, so it makes no difference how often the round before carried.
/// What a round does depends on c alone: slots above c keep what they have. Slots are touched by
/// one lane only, whose order keeps them free of races with the rounds before.
class SlotSchedule {
 public:
  /// `plan` outlives it.
  SlotSchedule(const Plan& plan, const Body& body);

  /// What makes the loop no counter: rounds that are not of one pair, a slot that another op or
  /// another lane touches, a carry without all slots; "" if nothing does.
  const std::string& wrong() const { return wrong_; }
  /// Which slot does not hold what it should in front of a round; "" if none.
  std::string fault(const Contents& contents, int64_t round) const;
  /// Whether the operand of an op that counts writes over a sum, or adds where none is; "" if not.
  std::string fault(const Contents& contents, const Operand& operand) const;

  /// The first round from `begin` on of each number of carries that any has.
  std::vector<int64_t> one_for_each_carry(int64_t begin) const;

  /// Makes borders of contents where slots begin and end.
  void cut(Contents& contents) const;
  /// Fills them as they are in front of a round. All that touches slots in the loop is on one lane,
  /// so what comes after the last carry of a unit ([units] turns) comes after all of them.
  void fill(Contents& contents, int64_t round, const std::vector<int32_t>& last_carry) const;
  /// Whether a byte of a tier's arena is one of a slot.
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
  std::array<std::map<int64_t, int64_t>, kTiers> ends_;  ///< of slots, by where they begin
  std::string wrong_;
};

}  // namespace zero::plan
