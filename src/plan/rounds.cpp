#include "zero/plan/rounds.hpp"

#include <algorithm>
#include <span>

namespace zero::plan {

Rounds::Rounds(const Body& body, int64_t rounds)
    : loop_(body.loop), rounds_(loop_.is_there() ? rounds : 1) {
  ops_ = int64_t(body.ops.size());
  size_ = ops_ + (rounds_ - 1) * (loop_.end - loop_.begin);
  for (int32_t i = 0; i < int32_t(body.ops.size()); ++i) {
    const size_t lane = size_t(body.ops[size_t(i)].lane);
    ++all_[lane];
    if (is_in_loop(i)) ++inside_[lane];
    if (i < loop_.begin) ++before_[lane];
  }
}

Turn Rounds::turn(int64_t n) const {
  if (n < loop_.begin || !loop_.is_there()) return {.op = int32_t(n)};
  const int64_t length = loop_.end - loop_.begin, further = n - loop_.begin;
  if (further >= length * rounds_) return {.op = int32_t(n - length * (rounds_ - 1))};
  return {.op = loop_.begin + int32_t(further % length), .round = further / length};
}

int64_t Rounds::number(const PlanOp& op, const Turn& turn) const {
  const int64_t rounds = is_behind_loop(turn.op) ? rounds_ - 1 : turn.round;
  return op.index + 1 + rounds * inside(op.lane);
}

int64_t Rounds::awaited(const Wait& wait, const Turn& turn) const {
  const bool behind = is_behind_loop(turn.op);
  if (behind && wait.count <= before(wait.lane)) return wait.count;
  return wait.count + (behind ? rounds_ - 1 : turn.round) * inside(wait.lane);
}

std::vector<Operand> operands_in(const Plan& plan, const PlanOp& op, int carries) {
  std::vector<Operand> operands = op.operands;
  if (!op.counts) return operands;
  if (op.kind != Kind::carry) {
    operands[kTarget].buffer = plan.counters[size_t(op.unit)][size_t(carries) - 1];
    return operands;
  }
  operands.resize(size_t(carries));
  for (Operand& lower : std::span(operands).first(size_t(carries) - 1)) lower.mode = Mode::read;
  return operands;
}

namespace {

/// Lists the slots that an op counts in. Writing a slot ends its earlier content.
void settle_slots(const Plan& plan, const Body& body, int64_t round, PlanOp& op) {
  op.operands = operands_in(plan, op, carries_of(body, op, round));
  op.counts = false;
  op.micro = 0;
  if (op.kind == Kind::carry || op.operands[kTarget].mode != Mode::write) return;
  const int32_t slot = op.operands[kTarget].buffer;
  if (!plan.buffers[size_t(slot)].persistent) op.anew.push_back(slot);
}

/// Returns a turn as an op of a body without a loop.
PlanOp as_it_runs(const Plan& plan, const Body& body, const Rounds& rounds, int64_t n) {
  const Turn turn = rounds.turn(n);
  PlanOp op = body.ops[size_t(turn.op)];
  for (Wait& wait : op.waits) wait.count = int32_t(rounds.awaited(wait, turn));
  for (Operand& operand : op.operands) {
    operand.offset = offset_of(operand, turn.round);
    operand.stride = 0;
  }
  op.index = int32_t(rounds.number(op, turn)) - 1;
  op.done_by = int32_t(std::min(rounds.size() - 1, n + op.done_by - turn.op));
  if (op.kind == Kind::compute) op.micro = micro_of(body, op, turn.round);
  if (op.counts) settle_slots(plan, body, turn.round, op);
  return op;
}

}  // namespace

Plan unrolled(const Plan& plan) {
  Plan plain = plan;
  for (Body& body : plain.bodies) {
    if (!body.loop.is_there()) continue;
    const Rounds rounds(body);
    std::vector<PlanOp> ops;
    for (int64_t n = 0; n < rounds.size(); ++n) ops.push_back(as_it_runs(plan, body, rounds, n));
    body.ops = std::move(ops);
    body.loop = {};
  }
  plain.counters.clear();
  return plain;
}

}  // namespace zero::plan
