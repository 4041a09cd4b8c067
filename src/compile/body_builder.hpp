#pragma once
/// The parts of a step's body: times of need for units (gathers.cpp), gradients (reducer.cpp),
/// states (updater.cpp), and moved activations (activation_homes.cpp).

#include <vector>

#include "src/compile/body_writer.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

// Times of need: ops that read a unit's weights or write its gradients, and stretches over which a
// unit must be gathered (stage 3).

/// The units whose parameters each op of a graph reads, and whose gradients it writes.
struct UnitUses {
  std::vector<std::vector<int32_t>> reads;
  std::vector<std::vector<int32_t>> gradients;
  std::vector<int32_t> first_gradient;  ///< [units] first op that writes a gradient of the unit
  std::vector<int32_t> last_gradient;   ///< [units] op that completes the unit's gradients
};

UnitUses find_uses(const graph::Graph& graph);

/// A gather of `unit` for the ops at positions first to last of the unrolled body. Its collective
/// is issued before position `ahead`.
struct Gather {
  int32_t unit;
  int32_t first;
  int32_t last;
  int32_t ahead = 0;
};

/// Returns the stretches of use over `micro_batches` runs of the graph's ops, in order of `first`.
/// A unit stays gathered between two uses if at most keep_distance_numel elements are used in
/// between, or if it has at most keep_below_numel. It does so only while at most live_numel
/// elements are gathered. A gather on demand is never refused.
std::vector<Gather> find_gathers(const Request& request, const std::vector<Unit>& units,
                                 const UnitUses& uses, int micro_batches);

/// Returns an entry per unit at its first use, where stages 0 to 2 update it.
std::vector<Gather> find_first_uses(const std::vector<Unit>& units, const UnitUses& uses);

struct Prefetch {
  int64_t ahead_numel;  ///< elements issued before their use, at least one unit; 0: on demand
  int64_t live_numel;   ///< limit of gathered elements, those in use included, for issuing
  /// Most positions from issue to last use, because a loop needs the bytes of a unit again then.
  int32_t longest = INT32_MAX;
};

/// Sets `ahead` of each gather.
void place_prefetch(const std::vector<Unit>& units, const Prefetch& prefetch,
                    std::vector<Gather>& gathers);

/// A writer of the path of gradients from backward to the optimizer. It covers buckets, local sums,
/// reduce-scatters, the binary counter of reproducible mode, the norm, and transfer to the host.
class Reducer {
 public:
  /// Begins a body. If `loops`, the body becomes one with a loop. The counter's ops then carry the
  /// number of their micro-batch, and every pair has a carry. Otherwise each op has its own
  /// buffers.
  Reducer(BodyWriter& writer, bool loops);

  /// Returns the buffer that backward writes unit u's gradients of this micro-batch to, with its
  /// gaps cleared.
  int32_t begin(int32_t u, int32_t micro);
  /// Returns the buffer of unit u's gradients summed over micro-batches.
  int32_t sum(int32_t u) const { return sum_[size_t(u)]; }
  /// Reduces unit u's gradients, which this micro-batch has completed. An audit's are only
  /// digested.
  void finish(int32_t u, int32_t micro);
  /// Gives every reduction time until the next unit's bucket is full. REQUIRES: called after the
  /// body's last op.
  void spread();

 private:
  struct Range {
    int64_t begin, end;
  };
  int32_t make_sum(int32_t u, bool of_audit);
  void digest(int32_t u, bool of_audit);
  void digest_bytes(int32_t u, const Operand& bytes, bool of_audit);
  void clear_gaps(int32_t u);
  std::vector<Range> ranges_to_sum(int32_t u);
  void sum_locally(int32_t u, int32_t micro);
  void reduce(int32_t u, Team team, int32_t from, const Operand& to, Dtype out, bool add);
  Operand group_sums(int32_t u, Team team, int64_t piece_numel);
  int32_t sum_of_group(int32_t u);
  void cross(int32_t u, int32_t sum, const Operand& to, bool add);
  void leaf(int32_t u, int32_t to, bool add);
  void merge(int32_t u, int32_t from, int32_t to);
  void round_for_the_way(int32_t u);
  void gather_sum(int32_t u);
  void count(int32_t u, int32_t micro);
  void count_in_slots(int32_t u, int32_t micro);
  void make_slots(int32_t u);
  int32_t merge_leftovers(int32_t u);
  void finish_step(int32_t u);
  void send_to_host(int32_t u);
  int32_t counter_slot(int32_t u, bool takes_all, int32_t number);
  Lane lane() const;

  BodyWriter& writer_;
  const bool loops_;
  std::vector<int32_t> bucket_;                ///< [units]
  std::vector<int32_t> sum_;                   ///< [units] final gradients of the step
  std::vector<int32_t> of_group_;              ///< [units] fp32 sums of a group's micro-batches
  std::vector<std::vector<int32_t>> counter_;  ///< [units][level] fp32 slot, -1: empty
  std::vector<bool> in_products_;              ///< [parameters] true: products add its gradient
  Slack slack_{0};                             ///< for each unit's reductions
};

/// Returns the trained units in order of first use, in which every body updates them.
std::vector<int32_t> update_order(const Plan& plan);

/// The optimizer's part of a body. It brings states from their home to the optimizer's site,
/// updates them and sends them home.
class Updater {
 public:
  explicit Updater(BodyWriter& writer);

  /// Decides on the last attempt. The host optimizer gets a copy of the decision.
  void decide();
  /// Updates this rank's part of unit u and, at stages 1 and 2 or over groups, gathers its weights.
  /// Returns the place from which the new weight is available soonest: its home or a copy.
  Operand update(int32_t u);
  /// Makes the update of the next decision for a speculated unit, whose whole gradient is on its
  /// way.
  void speculate(int32_t u);
  /// Returns the place to fetch an updated unit's weight from again. A disk is too slow for an
  /// early use. Therefore the last staged units keep a copy in host memory for the rest of the
  /// body.
  Operand weight(int32_t u) const { return weights_[size_t(u)]; }
  /// Reads this share, in bytes, of the states that the next body updates first. REQUIRES: called
  /// after all updates.
  void read_ahead(double share);
  /// Keeps as many units staged as the request asks for. REQUIRES: called after the body's last op.
  void spread();

 private:
  /// An operand at home, and its place for the optimizer. They are equal unless it is moved.
  struct Staged {
    Operand home, here;
    bool is_away() const { return home.buffer != here.buffer; }
  };
  /// A copy to be filled anew.
  struct Read {
    int32_t unit, copy;
    bool begins_unit;
  };
  /// The states of a unit, in the order of Unit::updated().
  using States = std::vector<Staged>;
  void list_units();
  Operand update_now(int32_t u);
  /// Settles a unit. Returns the weight as update() does, after sending the settled one there.
  Operand settle(int32_t u);
  /// Emits an op on both copies of the operands that an update changes.
  void run_with_second(int32_t u, Kind kind);
  /// Returns the part of the weight that this rank updates.
  Operand weight_at_home(int32_t u, Mode mode) const;
  PlanOp optimizer_op(int32_t u, Kind kind, int32_t state,
                      const std::vector<Operand>& updated) const;
  const States& bring(int32_t u);
  States stage_unit(int32_t u);
  Staged stage(int32_t u, const Operand& home, int32_t copy);
  /// Returns the copy that is nearest to the use of weights.
  Operand send_home(int32_t u, const Staged& staged);
  void run(int32_t u, const States& states);
  void run_with_norms(const PlanOp& update);
  /// Joins a weight with a home beside the device, of which this rank has updated a part. Returns
  /// the whole on the device, and sends it home.
  Operand join(int32_t u, const Operand& updated);
  void gather(int32_t u, Operand part, const Operand& full);

  BodyWriter& writer_;
  int32_t host_state_ = -1;     ///< decision in host memory
  std::vector<int32_t> order_;  ///< order of updates
  int ahead_;                   ///< units brought before one is updated
  Slack slack_;
  std::vector<States> states_;    ///< in the order of order_, as far as brought
  std::vector<bool> is_last_;     ///< [units] true: among the last that are staged
  std::vector<Operand> weights_;  ///< [units] result of weight(), once updated
  std::vector<Read> reads_;       ///< reads ahead of the next body
  int64_t read_bytes_ = 0, ahead_bytes_ = 0;
  size_t read_ = 0;
};

/// An activation with a home beside the device between the passes of a micro-batch. All members but
/// the tensor are ops of the graph.
struct MovedActivation {
  graph::TensorId tensor;
  int32_t away;   ///< op after which it leaves the device
  int32_t gone;   ///< op before which its bytes on the device are reused
  int32_t ahead;  ///< op before which its return begins
  int32_t back;   ///< first op of the block that reads it, which waits for the return
};

/// Returns the activations that recomputation begins with, in order of return. Under full recompute
/// these are inputs of blocks. A forward op makes such a tensor, and a repeated op reads it. It
/// returns `blocks` blocks before its use, and has as long to leave. A tensor stays if it would
/// return before backward has left the head of the model. Moving it would save nothing at the peak.
std::vector<MovedActivation> find_moved(const graph::Graph& graph, int blocks);

/// A writer of the moves of activations in a body.
class ActivationHomes {
 public:
  ActivationHomes(BodyWriter& writer, ComputeWriter& compute, int32_t graph);

  /// Write the moves before and after an op of the current micro-batch, and at its end.
  void before(int32_t op);
  void after(int32_t op);
  void end_micro();

 private:
  /// A range of the body's ops that have time until an op of the graph.
  struct Moves {
    int32_t begin, end, until;
  };
  void leave(size_t which);
  void come_back(size_t which);

  BodyWriter& writer_;
  ComputeWriter& compute_;
  std::vector<MovedActivation> moved_;
  std::vector<int32_t> places_;     ///< [moved] buffer that holds it meanwhile
  std::vector<int32_t> positions_;  ///< [ops of the graph] position in the body
  std::vector<Moves> moves_;
};

}  // namespace zero::plan
