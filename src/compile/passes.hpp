#pragma once
/// The passes of plan::compile() in running order. Each works on the plan in place and leaves it
/// complete except for fields of later passes. Shared parts follow.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "zero/compile/compile.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Compiles as compile() does, without the proof, for forecasts.
Plan compile_unproved(const Request& request, const graph::Graph& training,
                      const graph::Graph& evaluation, const Interrupt& interrupt = {});

/// Lays each unit's parameters out flat, every tensor at a multiple of 64 elements. Pads units to a
/// multiple of ranks * 2048, so shard borders fall on blocks of the norm and of the disk.
std::vector<Unit> lay_out_units(const graph::Graph& graph, const Groups& groups);

/// Makes the persistent buffers of the ZeRO table: weights, optimizer states, gradients, step data.
void place_states(Plan& plan);

/// Makes copies in host memory of disk states that are updated first, for as many units as are
/// staged.
void place_copies(Plan& plan);

/// Makes second copies for the units that the host updates before the norm is known.
void place_speculation(Plan& plan);

/// Makes the persistent buffers of a plan that continues texts: weights, caches, inputs and
/// outputs.
void place_decode_states(Plan& plan);

/// Write the bodies' ops in total order: micro-batches (Body::loop if there are many), collectives,
/// optimizer, prefetch distance. Every operand has its buffer; offsets are not yet set.
void write_step(Plan& plan);
/// Writes the step of write_step() without a loop, for checks.
void write_step_in_full(Plan& plan);
void write_finish(Plan& plan);
void write_evaluate(Plan& plan);
void write_read_ahead(Plan& plan);
/// Writes nothing unless the request audits.
void write_audit(Plan& plan);
void write_decode(Plan& plan);
void write_prefill(Plan& plan);

/// Numbers each op within its lane. done_by is at least the op's own position.
void number_lanes(Body& body);

/// Sets offsets: persistent buffers first, then each body's transient buffers by lifetime, best
/// fit. No other pass takes as long.
void pack(Plan& plan, const Interrupt& interrupt = {});

/// Sets the fewest waits that order every conflicting pair of accesses of a body.
void place_waits(const Plan& plan, Body& body);

/// A pair of equal, adjacent stretches of a body: ops [first, second) and [second, end).
struct MiddlePair {
  int32_t first, second, end;
  int64_t rounds;         ///< runs of the second stretch
  int32_t micro_batches;  ///< in each stretch
};

/// Turns the second stretch into a loop. Both stretches then use the same transient buffers, and
/// later ops use those of the last round. Returns false if the stretches differ in more than
/// buffers, micro-batches and places of inputs, or if a buffer overlaps its successor in time. The
/// body must then be written anew. REQUIRES: transient buffers of its ops live once, and no body
/// comes after this one.
bool fold(Plan& plan, Body& body, const MiddlePair& pair);

// Shared parts: the layout of gradients, and the clock that places waits.

/// The layout of gradients between micro-batches and the optimizer, decided once from the request.
/// A gradient of one micro-batch has the compute dtype, a sum of several fp32.
struct GradientLayout {
  Dtype element;        ///< dtype of the persistent gradient, which the optimizer reads
  bool full;            ///< true: the whole unit; false: this rank's shard
  bool direct;          ///< true: backward writes into it; false: into a bucket per micro-batch
  bool counter;         ///< reproducible sums: a binary counter of fp32 shards
  bool local_sum;       ///< stages 0 and 1: micro-batches add locally; ranks reduce after the last
  bool in_products;     ///< local sums: products add weight gradients to them directly
  bool gather_sums;     ///< stage 0: final shards are gathered to every rank
  bool round_gradient;  ///< optimizer and norm round fp32 to the compute dtype
  bool wire_bf16;       ///< local sums are rounded to bf16 for transfer between ranks
  Team meets;           ///< ranks that reduce a micro-batch
  bool crosses_once;    ///< sums of a group's micro-batches are reduced across groups at the end
};

GradientLayout gradient_layout(const Request& request);

/// Returns [parameters]: true if a single op writes the gradient and can add it to an fp32 sum.
std::vector<bool> summed_by_their_op(const graph::Graph& graph);

/// The final gradient at the optimizer's site. It moves to the host rounded.
struct RestingGradient {
  Dtype element;
  bool full;            ///< true: the whole unit; false: this rank's shard
  bool round_gradient;  ///< true: the optimizer must still round it
};
RestingGradient resting_gradient(const Request& request, Tier site);

/// The number of ops of each lane that have certainly finished.
using LaneClock = std::array<int32_t, kLanes>;

/// Raises a clock to the knowledge of another.
inline void raise(LaneClock& clock, const LaneClock& other) {
  for (size_t lane = 0; lane < clock.size(); ++lane) {
    clock[lane] = std::max(clock[lane], other[lane]);
  }
}

}  // namespace zero::plan
