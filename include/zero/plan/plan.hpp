#pragma once
/// A compiled step, or the passes that continue a text: the ops with their lanes, bytes and waits.
/// Plain data, equal on every rank.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/graph/graph.hpp"
#include "zero/plan/request.hpp"
#include "zero/plan/unit.hpp"

namespace zero::plan {

/// A queue whose ops run in order, beside other lanes.
enum class Lane : uint8_t {
  compute,
  gather,
  reduce,
  small,
  h2d,  ///< host memory to device
  d2h,
  disk_read,  ///< disk to host memory
  disk_write,
  host_optimizer,
  count_
};
inline constexpr int kLanes = int(Lane::count_);
/// Lanes that run collectives.
inline constexpr Lane kCollectiveLanes[] = {Lane::gather, Lane::reduce, Lane::small};
const char* name_of(Lane lane);

/// The purpose of bytes, a row of the memory table.
enum class Use : uint8_t {
  weights,           ///< whole, or this rank's shard at stage 3
  gradients,         ///< read by the optimizer
  optimizer,         ///< masters' low bits and optimizer states
  gathered_weights,  ///< stage 3: whole units in use
  gradient_buckets,  ///< whole units of a micro-batch, until reduced
  partial_sums,      ///< reproducible mode: fp32 shards of the binary counter
  activations,
  scratch,
  step_data,    ///< inputs and outputs of the graphs, step state
  cache,        ///< keys and values of continued texts
  constants,    ///< tables that ops only read
  staging,      ///< states in transfer between tiers
  speculation,  ///< second copies for updates made before the norm is known
  count_
};
inline constexpr int kUses = int(Use::count_);
const char* name_of(Use use);

/// Alignment of extents in host memory. A disk reads and writes whole pages in place.
inline constexpr int64_t kPageBytes = 4096;
/// Alignment of extents on disk: blocks with one digest.
inline constexpr int64_t kDiskExtentAlignBytes = int64_t(64) << 10;

/// A named, contiguous range of a tier's arena.
struct Buffer {
  std::string name;
  int64_t bytes = 0;
  Tier tier = Tier::device;
  Use use = Use::activations;
  bool persistent = false;  ///< keeps its content between bodies
  /// Persistent: equal to this buffer while no body runs. If a body fills it anew, other buffers
  /// may use its bytes until then.
  int32_t copy_of = -1;
  /// Persistent: this buffer or its twin holds the state, the other a guess.
  int32_t twin = -1;
  int32_t turns = -1;   ///< buffer whose kernels::Speculation::second chooses
  int64_t offset = -1;  ///< in the arena; equal on every rank; set by pack
};

enum class Mode : uint8_t { read, write, update };

/// An operand of an op: part of a buffer with its access.
/// Address on a rank: arena + buffer.offset + offset, and if sharded + bytes times the rank's place
/// in the team.
struct Operand {
  int32_t buffer = -1;  ///< -1: an absent optional operand
  int64_t offset = 0;
  int64_t bytes = 0;
  Mode mode = Mode::read;
  bool sharded = false;  ///< rank's shard of those of a team, side by side at `offset`
  Team team = Team::all;
  int64_t stride = 0;  ///< in a loop: growth of `offset` per round
};

enum class Kind : uint8_t {
  compute,  ///< op `graph_op` of the body's graph, micro-batch `micro`
  decide,   ///< step inputs, sums (update), step state (update)
  /// Step state, weight (update), low (update, optional), each state (update), gradient. For
  /// optimizers without norms.
  update,
  add_norms,    ///< as update, but weight and low are read; then norms (update)
  apply_norms,  ///< as update, but states are read; then norms (read)
  /// As update, but the weight is read; then the turns (kernels::Speculation), weight, low and
  /// states of the second copy (update). Makes the update that follows if the next decision neither
  /// clips nor skips.
  speculate,
  /// As speculate. Accepts that update or remakes it as decided; then the second copy's weight
  /// becomes the weight.
  settle,
  sum_of_squares,  ///< gradient shard, sums (update)
  accumulate,      ///< gradient, sum (write: first, update: later): fp32 sum += gradient
  /// Fp32 slots of a counter from level 1 up: all but the last (read) are added to the last
  /// (update) in order; PlanOp::counts.
  carry,
  round_sum,       ///< sum, gradient (write): rounded once to the compute dtype
  clear,           ///< ranges of bytes (write): zeros
  all_gather,      ///< shard (read), full (write; update after the first piece)
  reduce_scatter,  ///< full (read), shard (write | update), sums of rank groups (write, optional)
  all_reduce,      ///< int64 words (update)
  copy,            ///< from (read), to (write, or update of its shard), in other memory
  disk_read,       ///< on disk (read), in host memory (write)
  disk_write,      ///< in host memory (read), on disk (write)
  digest,          ///< step inputs, words (read), 64-bit sum of them (update), in audited steps
  count_
};
const char* name_of(Kind kind);
/// Returns the name of a kind. The ops of `optimizer` have its own names, as "adam".
const char* name_of(Kind kind, const OptimizerForm& optimizer);
/// True for the kinds of an optimizer's op on a unit.
bool is_update(Kind kind);
/// True for kinds that also have the second copies of the operands that an update changes.
bool has_second(Kind kind);
/// True for kinds that ranks run together, on a lane's communicator.
bool is_collective(Kind kind);
/// True for kinds that move bytes between tiers.
bool is_transfer(Kind kind);
/// True for kinds that move bytes from or to a disk.
bool is_disk_transfer(Kind kind);

/// A condition of an op: `lane` has finished `count` ops of this body.
struct Wait {
  Lane lane;
  int32_t count;
  bool operator==(const Wait&) const = default;
};

/// Operand indices of an optimizer's op: weight, low, states, then the gradient.
inline constexpr size_t kWeightOperand = 1, kLowOperand = 2, kFirstState = 3;
inline size_t gradient_operand(const OptimizerForm& optimizer) {
  return kFirstState + optimizer.states.size();
}
/// Further operand indices of speculate and settle.
inline size_t turns_operand(const OptimizerForm& optimizer) {
  return gradient_operand(optimizer) + 1;
}
inline size_t second_operand(const OptimizerForm& optimizer) {
  return turns_operand(optimizer) + 1;
}

/// The operand indices of kinds outside the graph. Ops of the graph name theirs in their own files.
enum : size_t {
  kSource = 0,     ///< read; the only operand of an all_reduce or a clear
  kTarget = 1,     ///< written
  kGroupSums = 2,  ///< reduce_scatter over many ranks
  kDecision = 0,   ///< StepState, for the optimizer's kinds
  kStepInputs = 0,
  kStepSums = 1,
  kStepState = 2,  ///< decide, with the two before
  kDigested = 1,   ///< digest, after the step inputs
  kDigest = 2,
};

struct PlanOp {
  Kind kind;
  Lane lane = Lane::compute;
  int32_t unit = -1;      ///< for kinds on a unit and collectives
  int32_t graph_op = -1;  ///< for Kind::compute
  /// Micro-batch of the rank within the step, of a compute op. If the op `counts`: the first of its
  /// pair.
  int32_t micro = 0;
  Dtype in = Dtype::f32;        ///< collectives, sums, optimizer: dtype read
  Dtype out = Dtype::f32;       ///< reduce_scatter, round_sum: dtype written
  bool round_gradient = false;  ///< rounds an fp32 gradient to the compute dtype when read
  bool add = false;             ///< reduce_scatter: add to the shard; accumulate: add to the sum
  bool sums = false;  ///< compute: the first output goes to an fp32 sum, written or added (`add`)
  /// In reproducible mode's counter: the op's micro-batch chooses the slot of kTarget, or of a
  /// carry's last operand (zero/plan/rounds.hpp). The list names the slot of level 1, or for a
  /// carry all slots.
  bool counts = false;
  Team team = Team::all;                                      ///< collectives: the ranks that meet
  int64_t shard_numel = 0, piece_begin = 0, piece_numel = 0;  ///< collectives (comm::Piece)
  std::vector<Operand> operands = {};  ///< compute: op.inputs, op.outputs, scratch
  std::vector<Wait> waits = {};        ///< beyond the lane's own order; set by wait
  /// Transient buffers whose content ends before this op, after the last use by their micro-batch.
  std::vector<int32_t> anew = {};

  int32_t index = -1;  ///< index in its lane
  /// Later ops of the body reuse its bytes only after this position, which leaves it time to run
  /// beside compute.
  int32_t done_by = -1;
};

/// A loop: ops [begin, end) of a body run several times before the ops behind them. As many ops in
/// front of them do the same work for earlier micro-batches. zero/plan/rounds.hpp defines waits,
/// operands and micro-batches of later rounds.
struct Loop {
  int32_t begin = 0, end = 0;  ///< equal: no loop
  int64_t rounds = 1;
  int32_t micro_batches = 0;  ///< per round
  bool is_there() const { return begin < end; }
};

/// A sequence of ops that runs as a whole. All lanes are idle before and after it.
struct Body {
  std::string name;
  int32_t graph = 0;             ///< index in Plan::graphs
  std::vector<PlanOp> ops = {};  ///< in the total order that pack, wait and verify refer to
  Loop loop = {};                ///< accumulation: the middle micro-batches of a step
};

/// The place of a graph's input. Inputs of all micro-batches are in one buffer, one after the
/// other, so bodies share code.
struct InputBuffer {
  int32_t graph = 0;  ///< index in Plan::graphs
  std::string name = {};
  graph::FilledBy filled_by = graph::FilledBy::data;
  int64_t ids = 0;      ///< see graph::Input
  int64_t bytes = 0;    ///< per micro-batch
  int32_t buffer = -1;  ///< graphs may share the buffer of their step inputs
  int64_t stride = 0;   ///< bytes between micro-batches; 0: all read the same
};

/// The place of a graph's output. Each micro-batch adds to it or overwrites it.
struct OutputBuffer {
  int32_t graph = 0;
  std::string name = {};
  int32_t buffer = -1;
};

/// The place of a graph's constant, which is written before any body runs. Equal constants of a
/// plan's graphs are in one buffer.
struct ConstantBuffer {
  int32_t graph = 0;
  int32_t index = 0;  ///< in Graph::constants
  int32_t buffer = -1;
};

enum BodyId : int { kStep, kFinish, kEvaluate, kReadAhead, kDecode, kPrefill, kAudit, kBodies };

struct Plan {
  Request request;
  /// [0] training, [1] evaluation micro-batch; or [0] a token, [1] a chunk of each text.
  std::vector<graph::Graph> graphs = {};
  /// [graph] forms for micro-batches of shorter samples, shortest first: the same ops and tensors
  /// as graphs[graph], some with fewer rows. Bodies list the operands of the longest form,
  /// graphs[graph]. In another form an op touches fewer bytes of the same buffers. Data choose the
  /// form (run::Executor::choose_form()).
  std::array<std::vector<graph::Graph>, 2> shorter = {};
  std::vector<Unit> units = {};
  std::vector<Buffer> buffers = {};
  /// [units][level - 1] of a reproducible step with a loop: the slot for the sum of 2^level
  /// micro-batches until the next such sum exists. The highest slot is the gradient if possible.
  std::vector<std::vector<int32_t>> counters = {};
  /// step: decide on the last attempt, then update and forward unit by unit, then backward. finish:
  /// decide and update only. evaluate: clear the sums, then forward. read ahead: fills the copies
  /// that step and finish need and keep valid. It must run after the host writes their originals.
  /// decode, prefill: continue texts by a token or a chunk. A plan has either these two or the
  /// others. audit: passes of the next rank's first micro-batch, which change no state
  /// (Request::audits).
  std::array<Body, kBodies> bodies = {};
  TierBytes arena_bytes{};

  // Buffers that the host or the checkpoint accesses.
  std::vector<InputBuffer> inputs = {};
  std::vector<OutputBuffer> outputs = {};
  std::vector<ConstantBuffer> constants = {};
  int32_t step_state = -1;
  /// Sums of Kind::digest, [2][units] words: of this rank's first micro-batch of a step, then of
  /// the audited one, whose inputs lie behind those of the rank's own.
  int32_t audit_sums = -1;
  std::vector<int32_t> caches = {};  ///< a cache for each attention
  int32_t disk_window = -1;  ///< host memory through which the host reads and writes disk homes

  /// Returns the place of an input of graphs[graph], by its name or as the only one that
  /// `filled_by` writes. output(): the buffer of an output. Throws Error(kInternal) if there is
  /// none, or if several inputs fit `filled_by`.
  const InputBuffer& input(int32_t graph, std::string_view name) const;
  const InputBuffer& input(int32_t graph, graph::FilledBy filled_by) const;
  int32_t output(int32_t graph, std::string_view name) const;
  /// Returns the index of the buffer of step sums, the training graph's loss.
  int32_t step_sums() const { return output(0, graph::kLossOutput); }

  /// Returns the number of forms of graphs[graph]. form(): number `number` of them, shorter ones
  /// first, then the longest.
  size_t forms(int32_t graph) const { return shorter.at(size_t(graph)).size() + 1; }
  const graph::Graph& form(int32_t graph, size_t number) const {
    const std::vector<graph::Graph>& others = shorter.at(size_t(graph));
    return number < others.size() ? others[number] : graphs.at(size_t(graph));
  }

  /// Returns a hash of all members of this plan. Ranks compare it before the first step.
  uint64_t hash() const;
};

/// Calls write(buffer, bytes) with the index and the content of each buffer of the plan's
/// constants.
void write_constants(const Plan& plan,
                     const std::function<void(int32_t, std::span<const std::byte>)>& write);

/// Returns the number of Hugging Face tensors that the parameters of a unit of `graph` hold. An
/// optimizer's norms are per tensor.
int64_t stored_tensors(const graph::Graph& graph, const Unit& unit);

/// Returns the name of the unit of an op of a body, or of its graph op: "h.3"; "" if none.
std::string unit_name(const Plan& plan, const Body& body, const PlanOp& op);

/// A range of bytes [begin, end) in an arena.
struct Stretch {
  int64_t begin = 0, end = 0;
};
/// Returns the range of the host arena of a plan that contains all buffers for disk transfers.
Stretch disk_staging(const Plan& plan);
/// Returns the range of the device arena of a plan, from a whole page on, that is free between
/// bodies.
Stretch free_between_bodies(const Plan& plan);

/// The number of units updated at each site, among those with optimizer states beside the device.
struct UpdateSites {
  int on_host = 0, on_device = 0;
  int speculated = 0;  ///< on the host before the norm is known; part of on_host
};
/// Returns these numbers for the units of a plan.
UpdateSites update_sites(const Plan& plan);

/// Proves a plan safe from its waits and extents alone, without notes of the passes:
/// - no two live buffers overlap; every operand lies in its buffer, every buffer in its arena
/// - every read sees the bytes of the op or the persistent buffer it names, and every conflicting
///   pair of accesses is ordered by lanes and waits (vector clocks), so every order of the executor
///   computes the result of the total order
/// - an op of the graph reads the activations of its micro-batch, also after transfers
/// - an op touches only tiers that its lane reaches
/// - waits point backwards in the total order, hence are acyclic
/// - persistent buffers still hold their own bytes at the end of each body; no op writes constants
/// - ranks gather and sum the shards of their team, join every update, and sum over all ranks
/// - all forms of a graph have the same ops, tensors and gradients, so collectives are equal; no
///   form reaches further than the longest; all of the above holds for any two consecutive forms
/// Returns the first `limit` findings, with names of ops and buffers; empty: safe.
std::vector<std::string> verify(const Plan& plan, int limit = 10);

}  // namespace zero::plan
