#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "src/compile/passes.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Gives ops of other lanes time to run beside compute: those of a group keep their bytes until
/// some further groups have been written. Their number is how many are in flight at once, less one.
class Slack {
 public:
  explicit Slack(int further) : further_(size_t(further)) {}

  void begin(int32_t position) { groups_.push_back({position, position}); }
  void end(int32_t position) { groups_.back().end = position; }

  /// After the body's last op.
  void apply(std::vector<PlanOp>& ops) const {
    for (size_t g = 0; g < groups_.size(); ++g) {
      const size_t next = g + 1 + further_;
      const int32_t free = next <= groups_.size() - 1 ? groups_[next].begin : int32_t(ops.size());
      for (int32_t i = groups_[g].begin; i < groups_[g].end; ++i) {
        PlanOp& op = ops[size_t(i)];
        if (op.lane != Lane::compute) op.done_by = std::max(op.done_by, free - 1);
      }
    }
  }

 private:
  struct Group {
    int32_t begin, end;  ///< positions in the body
  };
  size_t further_;
  std::vector<Group> groups_;
};

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

/// Emits the ops of one graph, micro-batch by micro-batch, and knows in which buffer each tensor
/// lies.
class ComputeWriter {
 public:
  ComputeWriter(BodyWriter& writer, int32_t graph);

  /// Forgets the activations of the micro-batch before.
  void begin_micro(int32_t micro);
  void emit(int32_t op);

  /// A tensor that no unit and no activation holds lies here, in a persistent buffer.
  void set_data(graph::TensorId tensor, const Operand& place);
  void set_data(graph::TensorId tensor, int32_t buffer) {
    set_data(tensor, writer_.whole(buffer, Mode::read));
  }
  /// Stage 3: unit u's weights are now read from this whole-unit buffer.
  void set_weights(int32_t unit, int32_t buffer) { weights_[size_t(unit)] = buffer; }
  /// Unit u's gradients are now written to this whole-unit buffer.
  void set_gradients(int32_t unit, int32_t buffer) { gradients_[size_t(unit)] = buffer; }
  /// From here on products that can do so write unit u's weight gradients to this fp32 sum, or
  /// `add` them.
  void set_sum(int32_t unit, int32_t buffer, bool add) { sums_[size_t(unit)] = {buffer, add}; }
  /// The buffer of an activation of this micro-batch, made where there is none.
  int32_t activation(graph::TensorId tensor);
  /// It is now read from this buffer.
  void set_activation(graph::TensorId tensor, int32_t buffer) {
    activations_[size_t(tensor)] = buffer;
  }

 private:
  struct Sum {
    int32_t buffer = -1;
    bool add = false;
  };

  void write_to_sum(const graph::Op& op, PlanOp& made) const;
  Operand operand(graph::TensorId tensor, Mode mode);
  Operand part_of_unit(int32_t parameter, const std::vector<int32_t>& buffers, Mode mode) const;

  BodyWriter& writer_;
  const int32_t graph_index_;
  std::vector<int32_t> parameter_of_;        ///< [tensors]
  std::vector<bool> summed_;                 ///< [parameters] summed_by_their_op()
  std::vector<const UnitParameter*> place_;  ///< [parameters]
  std::vector<int32_t> weights_;             ///< [units] buffer
  std::vector<int32_t> gradients_;           ///< [units] buffer
  std::vector<Sum> sums_;                    ///< [units]
  std::vector<Operand> data_;                ///< [tensors] of no buffer: none
  std::vector<int32_t> activations_;         ///< [tensors] buffer, -1: not made yet
  int32_t micro_ = 0;
};

}  // namespace zero::plan
