#pragma once
/// The parts of which a step's body is made: when units are needed (gathers.cpp), what happens to
/// gradients (reducer.cpp) and to states (updater.cpp), and what leaves the device between the
/// passes (activation_homes.cpp).

#include <vector>

#include "src/compile/body_writer.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

// When units are needed: which ops read a unit's weights or write its gradients, and over which
// stretches of the body a unit has to be gathered (stage 3).

/// The units whose parameters each op of a graph reads, and whose gradients it writes.
struct UnitUses {
  std::vector<std::vector<int32_t>> reads;
  std::vector<std::vector<int32_t>> gradients;
  std::vector<int32_t> first_gradient;  ///< [units] op that first writes a gradient of the unit
  std::vector<int32_t> last_gradient;   ///< [units] op after which the unit's gradients are whole
};

UnitUses find_uses(const graph::Graph& graph);

/// Unit `unit` is gathered for the ops at positions first to last of the unrolled body; `ahead` is
/// the position before which its collective is issued.
struct Gather {
  int32_t unit;
  int32_t first;
  int32_t last;
  int32_t ahead = 0;
};

/// Stretches of use in order of `first`, over `micro_batches` runs of the graph's ops. A unit is
/// kept from one use to the next if few enough elements are used in between (keep_distance_numel),
/// if it is small (keep_below_numel), and while no more than live_numel elements are gathered.
std::vector<Gather> find_gathers(const Request& request, const std::vector<Unit>& units,
                                 const UnitUses& uses, int micro_batches);

/// One entry a unit, at its first use: where stages 0 to 2 update it.
std::vector<Gather> find_first_uses(const std::vector<Unit>& units, const UnitUses& uses);

struct Prefetch {
  int64_t ahead_numel;  ///< elements issued before their use, at least one unit; 0: on demand
  int64_t live_numel;   ///< gathered at one time, with those in use; nothing is issued beyond it
  /// Positions from being issued to the last use at most: in a loop the bytes of a unit are needed
  /// again then.
  int32_t longest = INT32_MAX;
};

/// Sets `ahead`.
void place_prefetch(const std::vector<Unit>& units, const Prefetch& prefetch,
                    std::vector<Gather>& gathers);

/// What happens to a unit's gradients between the backward pass and the optimizer: buckets, local
/// sums, reduce-scatters, the binary counter of reproducible mode, the norm, the way to the host.
class Reducer {
 public:
  /// `loops`: the body becomes one with a loop, where a counter's ops say the number of their
  /// micro-batch and every pair has a carry; else each has the buffers that it needs.
  Reducer(BodyWriter& writer, bool loops);

  /// A bucket for the coming micro-batch's gradients of unit u, its gaps zeroed; returns the buffer
  /// that backward writes to.
  int32_t begin(int32_t u, int32_t micro);
  /// Where the gradients of unit u end up over micro-batches.
  int32_t sum(int32_t u) const { return sum_[size_t(u)]; }
  /// All gradients of unit u of this micro-batch are written.
  void finish(int32_t u, int32_t micro);
  /// After the body's last op: gives every reduction time until the next unit's bucket is full.
  void spread();

 private:
  int32_t make_sum(int32_t u);
  void clear_gaps(int32_t u);
  struct Range {
    int64_t begin, end;
  };
  std::vector<Range> ranges_to_sum(int32_t u);
  void sum_locally(int32_t u, int32_t micro);
  void reduce(int32_t u, int32_t from, const Operand& to, Dtype out, bool add);
  Operand group_sums(int32_t u, int64_t piece_numel);
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
  std::vector<int32_t> sum_;                   ///< [units] where the step's gradients end up
  std::vector<std::vector<int32_t>> counter_;  ///< [units][level] fp32 shard, -1: empty
  std::vector<bool> in_products_;              ///< [parameters] products add its gradient
  Slack slack_{0};                             ///< of each unit's reductions
};

/// Units in the order of their first use, in which every body updates them.
std::vector<int32_t> update_order(const Plan& plan);

/// The optimizer's part of a body: what rests elsewhere is brought to where it runs, updated there
/// and sent home.
class Updater {
 public:
  explicit Updater(BodyWriter& writer);

  /// About the last attempt. The host's optimizer gets a copy of what is decided.
  void decide();
  /// What this rank owns of unit u and, at stages 1 and 2, the gather of its weights. Returns where
  /// the new weight can be fetched from soonest, its home or a copy.
  Operand update(int32_t u);
  /// The gradient of unit u is whole and on its way: makes the update of the next decision where
  /// the unit is speculated.
  void speculate(int32_t u);
  /// Where the weight of an updated unit can be fetched from again. On disk it is late where
  /// a use soon follows: of the last units that are staged a copy in host memory serves the rest of
  /// the body.
  Operand weight(int32_t u) const { return weights_[size_t(u)]; }
  /// After all updates: reads up to this share of what the next body updates first, in bytes.
  void read_ahead(double share);
  /// After the body's last op: keeps as many units on their way as the request asks for.
  void spread();

 private:
  /// An operand at home, and where the optimizer finds it: the same unless it had to be brought.
  struct Staged {
    Operand home, here;
    bool is_away() const { return home.buffer != here.buffer; }
  };
  /// A copy to be made true again.
  struct Read {
    int32_t unit, copy;
    bool begins_unit;
  };
  /// A unit's updated().
  using States = std::vector<Staged>;
  void list_units();
  Operand update_now(int32_t u);
  /// Returns the weight, as update() does, which the settled one is sent to.
  Operand settle(int32_t u);
  /// An op on both copies of what an update changes.
  void run_with_second(int32_t u, Kind kind);
  /// Returns the part of the weight that this rank updates.
  Operand weight_at_home(int32_t u, Mode mode) const;
  PlanOp optimizer_op(int32_t u, Kind kind, int32_t state,
                      const std::vector<Operand>& updated) const;
  const States& bring(int32_t u);
  States stage_unit(int32_t u);
  Staged stage(int32_t u, const Operand& home, int32_t copy);
  /// Returns the copy that is nearest to where weights are used.
  Operand send_home(int32_t u, const Staged& staged);
  void run(int32_t u, const States& states);
  void run_with_norms(const PlanOp& update);
  void gather(int32_t u);

  BodyWriter& writer_;
  int32_t host_state_ = -1;     ///< the decision in host memory
  std::vector<int32_t> order_;  ///< of the updates
  int ahead_;                   ///< units that are brought before one is updated
  Slack slack_;
  std::vector<States> states_;    ///< of order_, as far as they have been brought
  std::vector<bool> is_last_;     ///< [units] whether it is among the last that are staged
  std::vector<Operand> weights_;  ///< [units] once updated, where weight() has it
  std::vector<Read> reads_;       ///< ahead of the next body
  int64_t read_bytes_ = 0, ahead_bytes_ = 0;
  size_t read_ = 0;
};

/// An activation that rests beside the device between the passes of a micro-batch. All but the
/// tensor are ops of the graph.
struct MovedActivation {
  graph::TensorId tensor;
  int32_t away;   ///< after which it leaves the device
  int32_t gone;   ///< before which its bytes there are wanted
  int32_t ahead;  ///< before which it begins to come back
  int32_t back;   ///< the first op of the block that reads it, which has to be waited for
};

/// What recomputation begins with, a block's input under full recompute: an op of the forward pass
/// makes it, and one that runs again reads it. It comes back `blocks` blocks ahead of its use, and
/// takes as long to leave. What would come back before the backward pass has left the head of the
/// model stays: it would save no byte where the most are held. In the order of coming back.
std::vector<MovedActivation> find_moved(const graph::Graph& graph, int blocks);

/// Writes the moves of activations into one body.
class ActivationHomes {
 public:
  ActivationHomes(BodyWriter& writer, ComputeWriter& compute, int32_t graph);

  /// An op of the micro-batch in progress is about to be written, is written, was the last one.
  void before(int32_t op);
  void after(int32_t op);
  void end_micro();

 private:
  /// Ops of the body that have time until an op of the graph.
  struct Moves {
    int32_t begin, end, until;
  };
  void leave(size_t which);
  void come_back(size_t which);

  BodyWriter& writer_;
  ComputeWriter& compute_;
  std::vector<MovedActivation> moved_;
  std::vector<int32_t> places_;     ///< [moved] the buffer that holds it meanwhile
  std::vector<int32_t> positions_;  ///< [ops of the graph] in the body
  std::vector<Moves> moves_;
};

}  // namespace zero::plan
