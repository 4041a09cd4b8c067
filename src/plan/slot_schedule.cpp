#include <algorithm>

#include "src/plan/verify_parts.hpp"
#include "zero/base/error.hpp"

namespace zero::plan {

SlotSchedule::SlotSchedule(const Plan& plan, const Body& body)
    : plan_(plan), rounds_(body.loop.rounds), is_slot_(plan.buffers.size()) {
  for (const std::vector<int32_t>& slots : plan.counters) {
    levels_ = std::max(levels_, slots.size());
    for (const int32_t slot : slots) {
      const Buffer& buffer = plan.buffers[size_t(slot)];
      is_slot_[size_t(slot)] = true;
      ends_[size_t(buffer.tier)][buffer.offset] = buffer.offset + buffer.bytes;
    }
  }
  const auto begin = body.ops.begin() + body.loop.begin, end = body.ops.begin() + body.loop.end;
  const auto first = std::find_if(begin, end, [](const PlanOp& op) { return op.counts; });
  if (first == end) return;
  first_pair_ = first->micro / 2;
  if (body.loop.micro_batches != 2) {
    wrong_ = text("a round counts ", body.loop.micro_batches, " micro-batches, not 2");
  }
  for (auto op = begin; op != end && wrong_.empty(); ++op) wrong_ = wrong_with(*op, *first);
}

std::string SlotSchedule::wrong_with(const PlanOp& op, const PlanOp& first) const {
  const std::string name = text(name_of(op.kind), " of unit ", op.unit);
  if (!op.counts) {
    const bool touches =
        std::any_of(op.operands.begin(), op.operands.end(),
                    [&](const Operand& operand) { return is_slot(operand.buffer); });
    return touches ? name + " touches a slot and does not count" : "";
  }
  if (op.lane != first.lane || op.micro != first.micro || op.micro % 2 == 1) {
    return name + " counts on another lane or another pair";
  }
  const std::vector<int32_t>& slots = plan_.counters[size_t(op.unit)];
  const auto same = [](const Operand& operand, int32_t slot) { return operand.buffer == slot; };
  const bool has_all = op.kind != Kind::carry || std::equal(op.operands.begin(), op.operands.end(),
                                                            slots.begin(), slots.end(), same);
  return slots.size() == levels_ && has_all ? "" : name + " has not all slots of its counter";
}

std::string SlotSchedule::fault(const Contents& contents, int64_t round) const {
  std::string fault;
  for (const std::vector<int32_t>& slots : plan_.counters) {
    for (size_t i = 0; i < slots.size(); ++i) {
      contents.visit(extent(slots[i]), [&](const Content& content) {
        const bool full = content.counted && content.buffer == slots[i];
        if (full == is_full(i, round)) return true;
        fault = text(plan_.buffers[size_t(slots[i])].name, full ? " has" : " has not",
                     " the sum of a group in front of round ", round);
        return false;
      });
    }
  }
  return fault;
}

std::string SlotSchedule::fault(const Contents& contents, const Operand& operand) const {
  if (!is_slot(operand.buffer)) return "";
  const bool begins = operand.mode == Mode::write;
  std::string fault;
  contents.visit(extent(operand.buffer), [&](const Content& content) {
    const bool full = content.counted && content.buffer == operand.buffer;
    if (full == begins) {
      fault = text(plan_.buffers[size_t(operand.buffer)].name,
                   begins ? " is written while it has a sum" : " has no sum to add to");
    }
    return full != begins;
  });
  return fault;
}

std::vector<int64_t> SlotSchedule::one_for_each_carry(int64_t begin) const {
  std::vector<int64_t> rounds;
  for (size_t carries = 1; carries <= levels_; ++carries) {
    // Such a pair's number ends in a zero and carries - 1 ones.
    const int64_t period = int64_t(1) << carries, wanted = period / 2 - 1;
    const int64_t ahead = ((wanted - first_pair_ - begin) % period + period) % period;
    if (begin + ahead < rounds_) rounds.push_back(begin + ahead);
  }
  return rounds;
}

void SlotSchedule::cut(Contents& contents) const {
  for (const std::vector<int32_t>& slots : plan_.counters) {
    for (const int32_t slot : slots) contents.cut(extent(slot));
  }
}

void SlotSchedule::fill(Contents& contents, int64_t round,
                        const std::vector<int32_t>& last_carry) const {
  for (size_t unit = 0; unit < plan_.counters.size(); ++unit) {
    const std::vector<int32_t>& slots = plan_.counters[unit];
    for (size_t i = 0; i < slots.size(); ++i) {
      const bool full = is_full(i, round);
      contents.put(extent(slots[i]),
                   {.buffer = full ? slots[i] : -1, .writer = last_carry[unit], .counted = full});
    }
  }
}

bool SlotSchedule::lies_in_slot(size_t tier, int64_t offset) const {
  const auto above = ends_[tier].upper_bound(offset);
  return above != ends_[tier].begin() && offset < std::prev(above)->second;
}

}  // namespace zero::plan
