#pragma once

#include <string>
#include <vector>

#include "src/compile/gradient_layout.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Elements [begin, begin + numel) of every shard travel in one collective.
struct PieceRange {
  int64_t begin;
  int64_t numel;
};

/// Cuts a shard so that no piece moves more than `bucket_numel` elements over all ranks (at least
/// one element a rank), at multiples of 64 where the bucket allows it.
std::vector<PieceRange> cut_pieces(int64_t shard_numel, int ranks, int64_t bucket_numel);

/// Appends ops to one body: the small vocabulary that the passes which write bodies share.
class BodyWriter {
 public:
  BodyWriter(Plan& plan, BodyId body)
      : plan_(plan), body_(plan.bodies[body]), layout_(gradient_layout(plan.request)) {}

  Plan& plan() { return plan_; }
  Body& body() { return body_; }
  const Request& request() const { return plan_.request; }
  const GradientLayout& layout() const { return layout_; }
  Unit& unit(int32_t u) { return plan_.units[size_t(u)]; }
  int32_t size() const { return int32_t(body_.ops.size()); }

  /// A buffer that lives from its first to its last use in this body.
  int32_t transient(const std::string& name, Use use, int64_t bytes, Tier tier = Tier::device);

  Operand whole(int32_t buffer, Mode mode) const;
  /// `bytes` of a buffer that may hold just that, or that of every rank: then this rank's part.
  Operand owned(int32_t buffer, int64_t bytes, Mode mode) const;

  void emit(PlanOp op) { body_.ops.push_back(std::move(op)); }
  void clear(int32_t buffer, Lane lane = Lane::compute);
  void all_reduce(int32_t buffer);
  /// Every rank's shard of a unit-long array to every rank, in pieces of at most the bucket.
  struct Collection {
    Dtype element;
    Operand shard;  ///< read
    Operand full;   ///< written, or updated where the shard lies inside
    int64_t bucket_numel;
  };
  void all_gather(int32_t u, Collection parts);

  Tier tier_of(const Operand& operand) const { return plan_.buffers[size_t(operand.buffer)].tier; }
  /// Bytes of unit u (-1: of none) to another tier; by way of host memory where the device and a
  /// disk are the ends.
  void move(int32_t u, const Operand& from, const Operand& to);
  /// The same into a new buffer, which is returned.
  int32_t bring(int32_t u, const Operand& from, Tier to);

 private:
  void transfer(int32_t u, const Operand& from, const Operand& to);

  Plan& plan_;
  Body& body_;
  GradientLayout layout_;
};

}  // namespace zero::plan
