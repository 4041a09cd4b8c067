#pragma once
/// The meaning of a body with a loop (plan::Loop): its ops in order, with those of the loop written
/// once per round.

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// An op as it runs.
struct Turn {
  int32_t op;         ///< index in Body::ops
  int64_t round = 0;  ///< round of the loop; 0 outside it
};

/// The arithmetic of a body's rounds.
class Rounds {
 public:
  Rounds() = default;  ///< for a body without ops
  explicit Rounds(const Body& body) : Rounds(body, body.loop.rounds) {}
  /// Makes the arithmetic of `body` as if its loop ran `rounds` times, at least once.
  Rounds(const Body& body, int64_t rounds);

  int64_t ops() const { return ops_; }  ///< listed ops
  /// Returns the number of ops of the body that run, in all or on a lane, with every round.
  int64_t size() const { return size_; }
  int64_t size(Lane lane) const { return all_[size_t(lane)] + (rounds_ - 1) * inside(lane); }
  /// Returns the number of a lane's ops in front of the loop. inside(): in one round of it.
  int32_t before(Lane lane) const { return before_[size_t(lane)]; }
  int32_t inside(Lane lane) const { return inside_[size_t(lane)]; }

  /// Returns turn number `n`, from 0, of all that the body runs.
  Turn turn(int64_t n) const;

  /// True if an op, by its index in Body::ops, is in the loop. is_behind_loop(): if it is behind.
  bool is_in_loop(int32_t op) const { return loop_.begin <= op && op < loop_.end; }
  bool is_behind_loop(int32_t op) const { return loop_.is_there() && op >= loop_.end; }

  /// Returns the number of ops that the lane of `op` has finished once this turn of it has.
  int64_t number(const PlanOp& op, const Turn& turn) const;
  /// Returns the number of ops of wait.lane that must have finished before this turn may begin. In
  /// a loop this is one op, in the same or the previous round. Behind the loop, a wait for an op of
  /// the loop means the last round.
  int64_t awaited(const Wait& wait, const Turn& turn) const;

 private:
  Loop loop_ = {};
  int64_t rounds_ = 1, ops_ = 0, size_ = 0;
  std::array<int32_t, kLanes> before_{}, inside_{}, all_{};
};

/// Returns the micro-batch of a compute op of a body in a round of the loop.
inline int32_t micro_of(const Body& body, const PlanOp& op, int64_t round) {
  return op.micro + int32_t(round * body.loop.micro_batches);
}
/// Returns the number of carries that an op of a body, with PlanOp::counts, causes in a round of
/// the loop: the counter levels that are full once its pair of micro-batches is counted. Its carry
/// merges as many slots, the pair's own included.
inline int carries_of(const Body& body, const PlanOp& op, int64_t round) {
  return std::countr_one(unsigned(micro_of(body, op, round)) | 1u);
}
/// Returns the operands of an op with `carries` carries (carries_of()); as listed unless op.counts.
std::vector<Operand> operands_in(const Plan& plan, const PlanOp& op, int carries);
/// Returns the number of times that an op of a body, by its index, runs in the body.
inline int64_t times_of(const Body& body, int32_t op) {
  return body.loop.begin <= op && op < body.loop.end ? body.loop.rounds : 1;
}
/// Returns the offset of an operand in its buffer in a round of the loop, in bytes.
inline int64_t offset_of(const Operand& operand, int64_t round) {
  return operand.offset + operand.stride * round;
}

/// Returns a copy of `plan` without loops: equal ops, order, bytes and waits. For inspection and
/// tests with few micro-batches.
Plan unrolled(const Plan& plan);

}  // namespace zero::plan
