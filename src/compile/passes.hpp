#pragma once
/// The passes of plan::compile(), in the order in which they run. Each works on the plan in place
/// and leaves it complete up to its own fields. Behind them is what several of them share.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "zero/compile/compile.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// compile() without its proof, for a forecast alone.
Plan compile_unproved(const Request& request, const graph::Graph& training,
                      const graph::Graph& evaluation, const Interrupt& interrupt = {});

/// Lays each unit's parameters out flat: every tensor at a multiple of 64 elements, the unit padded
/// to a multiple of ranks * 2048, so that shard borders fall on blocks of the norm and of the disk.
std::vector<Unit> lay_out_units(const graph::Graph& graph, int ranks);

/// Makes the persistent buffers: weights, optimizer state, gradients, step data. The ZeRO table.
void place_states(Plan& plan);

/// Copies in host memory of what is on disk and updated first: as many units as are staged.
void place_copies(Plan& plan);

/// Second copies of what the host updates before the norm is known.
void place_speculation(Plan& plan);

/// The persistent buffers of a plan that continues a text: weights, caches, what the host reads and
/// writes.
void place_decode_states(Plan& plan);

/// Write the bodies' ops in their total order: micro-batches (Body::loop where there are many),
/// collectives, optimizer, prefetch distance. Every operand names its buffer; offsets in the arena
/// are still open.
void write_step(Plan& plan);
/// What write_step() says with a loop, every micro-batch written out: to check it by.
void write_step_in_full(Plan& plan);
void write_finish(Plan& plan);
void write_evaluate(Plan& plan);
void write_read_ahead(Plan& plan);
void write_decode(Plan& plan);
void write_prefill(Plan& plan);

/// Numbers each op within its lane; an op without a done_by is done by its own position.
void number_lanes(Body& body);

/// Finds offsets: persistent buffers first, then each body's transient buffers by lifetime, best
/// fit. No other pass takes as long.
void pack(Plan& plan, const Interrupt& interrupt = {});

/// The fewest waits that order every conflicting pair of accesses of a body.
void place_waits(const Plan& plan, Body& body);

/// Two equal stretches of a body, one after the other: ops [first, second) and [second, end).
struct MiddlePair {
  int32_t first, second, end;
  int64_t rounds;         ///< that the second one is to be run
  int32_t micro_batches;  ///< of each stretch
};

/// Makes the second stretch a loop: both then use the same transient buffers, and what follows them
/// uses what the last round leaves. Needs ops whose transient buffers live once, and no body after
/// this one. Returns false if the stretches differ in more than buffers, numbers of micro-batches
/// and places of inputs, or if a buffer of one is still in use where that of the next begins. The
/// body is then to be written anew.
bool fold(Plan& plan, Body& body, const MiddlePair& pair);

// What they share: how gradients are laid out, and the clock by which waits are placed.

/// How gradients rest between the passes over micro-batches and the optimizer, decided once from
/// the request. A gradient of one micro-batch has the compute dtype; a sum of several has fp32.
struct GradientLayout {
  Dtype element;        ///< of the persistent gradient that the optimizer reads
  bool full;            ///< it covers the whole unit, else this rank's shard
  bool direct;          ///< backward writes into it; else into a bucket of one micro-batch
  bool counter;         ///< reproducible sums: a binary counter of fp32 shards
  bool local_sum;       ///< micro-batches add locally; ranks reduce after the last (stages 0 and 1)
  bool in_products;     ///< local sums: products add gradients of weights to them themselves
  bool gather_sums;     ///< stage 0: finished shards are gathered to every rank
  bool round_gradient;  ///< the optimizer and the norm round fp32 to the compute dtype
  bool wire_bf16;       ///< local sums are rounded to bf16 for their way between ranks
};

GradientLayout gradient_layout(const Request& request);

/// [parameters] whether one op alone writes the gradient, and can add it to an fp32 sum.
std::vector<bool> summed_by_their_op(const graph::Graph& graph);

/// What a finished gradient is where the optimizer runs. It crosses to the host rounded.
struct RestingGradient {
  Dtype element;
  bool full;            ///< the whole unit, else this rank's shard
  bool round_gradient;  ///< the optimizer still has to round it
};
RestingGradient resting_gradient(const Request& request, Tier site);

/// How many ops of each lane are known to be finished.
using LaneClock = std::array<int32_t, kLanes>;

/// Adds what another clock knows.
inline void raise(LaneClock& clock, const LaneClock& other) {
  for (size_t lane = 0; lane < clock.size(); ++lane) {
    clock[lane] = std::max(clock[lane], other[lane]);
  }
}

}  // namespace zero::plan
