#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/plan/contents.hpp"
#include "zero/base/error.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::plan {

// Its parts.

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
