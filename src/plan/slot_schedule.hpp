#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "src/plan/contents.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::plan {

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
