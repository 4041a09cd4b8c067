#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "src/compile/passes.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// A grant of time to ops of other lanes beside compute. The ops of a group keep their bytes until
/// `further` more groups are written, so `further` + 1 groups are in flight.
class Slack {
 public:
  explicit Slack(int further) : further_(size_t(further)) {}

  void begin(int32_t position) { groups_.push_back({position, position}); }
  void end(int32_t position) { groups_.back().end = position; }

  /// Sets done_by of all groups. REQUIRES: called after the body's last op.
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

/// A range of elements [begin, begin + numel) of every shard, moved in one collective.
struct PieceRange {
  int64_t begin;
  int64_t numel;
};

/// Cuts a shard into pieces of at most `bucket_numel` elements over all ranks, but at least one
/// element per rank. Cuts are at multiples of 64 if the bucket allows it.
std::vector<PieceRange> cut_pieces(int64_t shard_numel, int ranks, int64_t bucket_numel);

/// A writer that appends ops to a body, shared by all passes that write bodies.
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
  /// True for the number of the micro-batch that an audit repeats.
  bool is_audit(int32_t micro) const { return micro == request().micro_batches; }

  /// Returns a new buffer that lives from its first to its last use in this body.
  int32_t transient(const std::string& name, Use use, int64_t bytes, Tier tier = Tier::device);

  Operand whole(int32_t buffer, Mode mode) const;
  /// Returns `bytes` of a buffer: all of it, or this rank's part if it holds those of every rank.
  Operand owned(int32_t buffer, int64_t bytes, Mode mode) const;

  void emit(PlanOp op) { body_.ops.push_back(std::move(op)); }
  void clear(const Operand& bytes, Lane lane = Lane::compute);
  void clear(int32_t buffer, Lane lane = Lane::compute) { clear(whole(buffer, Mode::write), lane); }
  void all_reduce(int32_t buffer);
  /// Returns the digests, to be written, of all units in the step or in its audit.
  Operand digests(bool of_audit) const;
  /// The arguments of all_gather: a unit, or a weight shard across groups, in pieces of at most the
  /// bucket.
  struct Collection {
    Dtype element;
    Operand shard;  ///< read
    Operand full;   ///< written, or updated if the shard lies inside
    int64_t bucket_numel;
    Team team = Team::all;  ///< the ranks whose shards make `full`
  };
  void all_gather(int32_t u, Collection parts);

  Tier tier_of(const Operand& operand) const { return plan_.buffers[size_t(operand.buffer)].tier; }
  /// Moves bytes of unit u (-1: none) to another tier, through host memory between device and disk.
  void move(int32_t u, const Operand& from, const Operand& to);
  /// Moves the bytes into a new buffer and returns it.
  int32_t bring(int32_t u, const Operand& from, Tier to);

 private:
  void transfer(int32_t u, const Operand& from, const Operand& to);

  Plan& plan_;
  Body& body_;
  GradientLayout layout_;
};

/// A writer of a graph's ops, micro-batch by micro-batch, that tracks the buffer of each tensor.
class ComputeWriter {
 public:
  ComputeWriter(BodyWriter& writer, int32_t graph);

  /// Begins a micro-batch and forgets the activations of the previous one.
  void begin_micro(int32_t micro);
  void emit(int32_t op);

  /// Places the inputs of the micro-batch, and the outputs, constants and step state of the graph.
  /// An audit writes outputs elsewhere, because those of the step await its decision.
  void place_data();
  /// Places a tensor outside units and activations in a persistent buffer.
  void set_data(graph::TensorId tensor, const Operand& place);
  void set_data(graph::TensorId tensor, int32_t buffer) {
    set_data(tensor, writer_.whole(buffer, Mode::read));
  }
  /// Lets ops read unit u's weights from this buffer of a whole unit. Stage 3.
  void set_weights(int32_t unit, int32_t buffer) { weights_[size_t(unit)] = buffer; }
  /// Lets ops write unit u's gradients to this buffer of a whole unit.
  void set_gradients(int32_t unit, int32_t buffer) { gradients_[size_t(unit)] = buffer; }
  /// Lets products that can write unit u's weight gradients to this fp32 sum, or `add` them.
  void set_sum(int32_t unit, int32_t buffer, bool add) { sums_[size_t(unit)] = {buffer, add}; }
  /// Returns the buffer of an activation of this micro-batch, creating it if needed.
  int32_t activation(graph::TensorId tensor);
  /// Lets ops read the activation from this buffer.
  void set_activation(graph::TensorId tensor, int32_t buffer) {
    activations_[size_t(tensor)] = buffer;
  }

 private:
  struct Sum {
    int32_t buffer = -1;
    bool add = false;
  };

  void place_output(const OutputBuffer& output);
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
  std::vector<Operand> data_;                ///< [tensors] no buffer: none
  std::vector<int32_t> activations_;         ///< [tensors] buffer; -1: not yet made
  int32_t micro_ = 0;
};

}  // namespace zero::plan
