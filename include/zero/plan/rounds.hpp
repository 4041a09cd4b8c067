#pragma once
/// What a body with a loop (plan::Loop) stands for: its ops one after the other, as if those of the
/// loop were written as often as they run.

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// One op as it runs.
struct Turn {
  int32_t op;         ///< place in Body::ops
  int64_t round = 0;  ///< of the loop; 0 outside of it
};

/// The arithmetic of a body's rounds.
class Rounds {
 public:
  Rounds() = default;  ///< of a body without ops
  explicit Rounds(const Body& body) : Rounds(body, body.loop.rounds) {}
  /// As if the loop ran so often, at least once.
  Rounds(const Body& body, int64_t rounds);

  int64_t ops() const { return ops_; }  ///< of the list
  /// How many ops run.
  int64_t size() const { return size_; }
  int64_t size(Lane lane) const { return all_[size_t(lane)] + (rounds_ - 1) * inside(lane); }
  /// How many of a lane's ops are in front of the loop, and in one round.
  int32_t before(Lane lane) const { return before_[size_t(lane)]; }
  int32_t inside(Lane lane) const { return inside_[size_t(lane)]; }

  /// All of them in order: turn n, from 0.
  Turn turn(int64_t n) const;

  bool is_in_loop(int32_t op) const { return loop_.begin <= op && op < loop_.end; }
  bool is_behind_loop(int32_t op) const { return loop_.is_there() && op >= loop_.end; }

  /// How many ops of its lane have finished when this one has.
  int64_t number(const PlanOp& op, const Turn& turn) const;
  /// For how many finished ops of the other lane it waits then. In a loop that is the same op of
  /// the same round or of the one before; after it, what it counts of the loop is the last round.
  int64_t awaited(const Wait& wait, const Turn& turn) const;

 private:
  Loop loop_ = {};
  int64_t rounds_ = 1, ops_ = 0, size_ = 0;
  std::array<int32_t, kLanes> before_{}, inside_{}, all_{};
};

/// The number of a compute op's micro-batch.
inline int32_t micro_of(const Body& body, const PlanOp& op, int64_t round) {
  return op.micro + int32_t(round * body.loop.micro_batches);
}
/// How many levels of the counter are full once the pair of micro-batches is counted of an op that
/// `counts`: as many slots as its carry then makes one, this pair's own included.
inline int carries_of(const Body& body, const PlanOp& op, int64_t round) {
  return std::countr_one(unsigned(micro_of(body, op, round)) | 1u);
}
/// The operands of an op of so many carries; as listed where it does not count.
std::vector<Operand> operands_in(const Plan& plan, const PlanOp& op, int carries);
/// How often an op runs.
inline int64_t times_of(const Body& body, int32_t op) {
  return body.loop.begin <= op && op < body.loop.end ? body.loop.rounds : 1;
}
/// Where an operand begins in its buffer.
inline int64_t offset_of(const Operand& operand, int64_t round) {
  return operand.offset + operand.stride * round;
}

/// The same plan without loops: what runs, in the same order, on the same bytes, after the same
/// waits. It serves to look at and to check, where there are few micro-batches.
Plan unrolled(const Plan& plan);

}  // namespace zero::plan
