#pragma once
/// A compiled training step, or the passes that continue a text: which op, on which lane, on which
/// bytes, after which waits. Plain data; the same on every rank.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zero/graph/graph.hpp"
#include "zero/plan/request.hpp"

namespace zero::plan {

/// A queue that runs its ops in order, beside the other lanes.
enum class Lane : uint8_t {
  compute,
  gather,
  reduce,
  small,
  h2d,  ///< from host memory to the device
  d2h,
  disk_read,  ///< from disk to host memory
  disk_write,
  host_optimizer,
  count_
};
inline constexpr int kLanes = int(Lane::count_);
/// Lanes that run collectives.
inline constexpr Lane kCollectiveLanes[] = {Lane::gather, Lane::reduce, Lane::small};
const char* name_of(Lane lane);

/// What bytes are for: the rows of the memory table.
enum class Use : uint8_t {
  weights,           ///< full, or this rank's shard at stage 3
  gradients,         ///< what the optimizer reads
  optimizer,         ///< masters' low bits and the optimizer's states
  gathered_weights,  ///< stage 3: whole units while they are in use
  gradient_buckets,  ///< whole units of one micro-batch, until they are reduced
  partial_sums,      ///< reproducible mode: fp32 shards of the binary counter
  activations,
  scratch,
  step_data,    ///< inputs and outputs of the graphs, step state
  cache,        ///< keys and values of a text that is continued
  staging,      ///< states on their way between tiers
  speculation,  ///< second copies, to which updates are written before the norm is known
  count_
};
inline constexpr int kUses = int(Use::count_);
const char* name_of(Use use);

/// Where extents begin in host memory: at pages, which a disk can read and write in place.
inline constexpr int64_t kPageBytes = 4096;
/// And on disk: at blocks whose bytes are checked as one.
inline constexpr int64_t kDiskExtentAlignBytes = int64_t(64) << 10;

/// A contiguous piece of one tier's arena.
struct Buffer {
  std::string name;
  int64_t bytes = 0;
  Tier tier = Tier::device;
  Use use = Use::activations;
  bool persistent = false;  ///< keeps its content between bodies
  int32_t copy_of = -1;     ///< persistent: holds the bytes of this buffer whenever no body runs.
                            ///< Where a body fills it anew, others may use its bytes until then.
  int32_t twin = -1;    ///< persistent: one of the two holds the state and the other a guess, by
  int32_t turns = -1;   ///< kernels::Speculation::second in this buffer
  int64_t offset = -1;  ///< in the tier's arena; the same on every rank; set by pack
};

enum class Mode : uint8_t { read, write, update };

/// One operand of an op: part of a buffer, and what the op does with it.
/// Address on rank r: arena + buffer.offset + offset + (sharded ? r * bytes : 0).
struct Operand {
  int32_t buffer = -1;  ///< -1: an optional operand that is absent
  int64_t offset = 0;
  int64_t bytes = 0;
  Mode mode = Mode::read;
  bool sharded = false;  ///< this rank's shard of a range of ranks * bytes at `offset`
  int64_t stride = 0;    ///< of an op of a loop: what `offset` grows by with each further round
};

enum class Kind : uint8_t {
  compute,         ///< op `graph_op` of the body's graph, micro-batch `micro`
  decide,          ///< step inputs, sums (update), step state (update)
  update,          ///< step state, weight (update), low (update, optional), each state (update),
                   ///<   gradient: of an optimizer that needs no norms
  add_norms,       ///< as update but weight and low are read; then norms (update)
  apply_norms,     ///< as update but states are read; then norms (read)
  speculate,       ///< as update but the weight is read; then the turns (kernels::Speculation),
                   ///<   weight, low and states of the second copy (update). Makes the update of
                   ///<   the next decision as if nothing were clipped or skipped
  settle,          ///< as speculate: takes that update over, or makes it as decided; either way
                   ///<   the second copy's weight becomes the weight
  sum_of_squares,  ///< gradient shard, sums (update)
  accumulate,      ///< gradient, sum (write: first, update: further): fp32 sum += gradient
  carry,           ///< fp32 slots of a counter, from level 1 up: all in front of the last one
                   ///<   (read) are added to it (update), in this order; PlanOp::counts
  round_sum,       ///< sum, gradient (write): one rounding to the compute dtype
  clear,           ///< one or more ranges of bytes (write): zeros
  all_gather,      ///< shard (read), full (write; update from the second piece on)
  reduce_scatter,  ///< full (read), shard (write | update), sums of groups of ranks (write,
                   ///<   optional)
  all_reduce,      ///< int64 words (update)
  copy,            ///< from (read), to (write; update of a shard in its place), in other memory
  disk_read,       ///< on disk (read), in host memory (write)
  disk_write,      ///< in host memory (read), on disk (write)
  count_
};
const char* name_of(Kind kind);
/// As above, but an optimizer's ops have the optimizer's names for them.
const char* name_of(Kind kind, const OptimizerForm& optimizer);
/// Whether it is an optimizer's op on a unit.
bool is_update(Kind kind);
/// True if an op of this kind also has the second copies of what an update changes.
bool has_second(Kind kind);
/// Whether ranks run the op together, over a lane's communicator.
bool is_collective(Kind kind);
/// Whether it moves bytes between tiers.
bool is_transfer(Kind kind);
/// Whether it moves bytes from or to a disk.
bool is_disk_transfer(Kind kind);

/// The executor may run the op when lane `lane` has finished `count` ops of this body.
struct Wait {
  Lane lane;
  int32_t count;
  bool operator==(const Wait&) const = default;
};

/// Operands of an optimizer's op: states begin after weight and low, the gradient follows them.
inline constexpr size_t kWeightOperand = 1, kLowOperand = 2, kFirstState = 3;
inline size_t gradient_operand(const OptimizerForm& optimizer) {
  return kFirstState + optimizer.states.size();
}
/// Operands of speculate and settle behind those.
inline size_t turns_operand(const OptimizerForm& optimizer) {
  return gradient_operand(optimizer) + 1;
}
inline size_t second_operand(const OptimizerForm& optimizer) {
  return turns_operand(optimizer) + 1;
}

/// Places in PlanOp::operands of the kinds that are no op of the graph; an op's own file names its.
enum : size_t {
  kSource = 0,     ///< what is read; what an all_reduce or a clear has alone
  kTarget = 1,     ///< what is written
  kGroupSums = 2,  ///< of a reduce_scatter over many ranks
  kDecision = 0,   ///< of the optimizer's kinds: StepState
  kStepInputs = 0,
  kStepSums = 1,
  kStepState = 2,  ///< of decide, like the two before
};

struct PlanOp {
  Kind kind;
  Lane lane = Lane::compute;
  int32_t unit = -1;       ///< unit kinds and collectives
  int32_t graph_op = -1;   ///< Kind::compute
  int32_t micro = 0;       ///< micro-batch of the rank within the step: of compute ops, and, where
                           ///< it `counts`, the first of its pair
  Dtype in = Dtype::f32;   ///< collectives, sums, optimizer: element type read
  Dtype out = Dtype::f32;  ///< reduce_scatter, round_sum: element type written
  bool round_gradient = false;  ///< an fp32 gradient is rounded to the compute dtype when read
  bool add = false;   ///< reduce_scatter: the sum is added to the shard; accumulate: to the sum
  bool sums = false;  ///< compute: the first output is written to an fp32 sum, or added (`add`)
  /// In reproducible mode's counter: kTarget, or of a carry the last one, is the slot that the
  /// op's micro-batch asks for (zero/plan/rounds.hpp). Listed is that of level 1, or all slots.
  bool counts = false;
  int64_t shard_numel = 0, piece_begin = 0, piece_numel = 0;  ///< collectives (comm::Piece)
  std::vector<Operand> operands = {};  ///< compute: op.inputs, op.outputs, scratch
  std::vector<Wait> waits = {};        ///< beside the lane's own order; set by wait
  std::vector<int32_t> anew = {};      ///< transient buffers that hold nothing any more as this op
                                       ///< begins: their last micro-batch has done with them

  int32_t index = -1;    ///< place in its lane
  int32_t done_by = -1;  ///< ops that follow this one in the body's order and reuse its bytes come
                         ///< after this position, so that it has time to run beside compute
};

/// Ops [begin, end) of a body that run several times, one round after the other, before those that
/// follow them. Just as many ops in front of them are the same for earlier micro-batches. What a
/// wait, an operand and a number of a micro-batch mean in later rounds: zero/plan/rounds.hpp.
struct Loop {
  int32_t begin = 0, end = 0;  ///< equal: there is none
  int64_t rounds = 1;
  int32_t micro_batches = 0;  ///< of each round
  bool is_there() const { return begin < end; }
};

/// A sequence that is run as a whole, always from start to end. All lanes are idle at its borders.
struct Body {
  std::string name;
  int32_t graph = 0;             ///< index into Plan::graphs
  std::vector<PlanOp> ops = {};  ///< total order that pack, wait and verify refer to
  Loop loop = {};                ///< accumulation: the micro-batches in the middle of a step
};

/// Where an input of a graph lies. Inputs of all micro-batches are in one buffer, one after the
/// other, so that bodies have one code for all of them.
struct InputBuffer {
  int32_t graph = 0;  ///< index into Plan::graphs
  std::string name = {};
  graph::FilledBy filled_by = graph::FilledBy::data;
  int64_t ids = 0;      ///< as graph::Input has it
  int64_t bytes = 0;    ///< of one micro-batch
  int32_t buffer = -1;  ///< the step's inputs of two graphs may share one
  int64_t stride = 0;   ///< bytes from one micro-batch to the next; 0: all read the same
};

/// Where an output of a graph lies. Each micro-batch adds to it or overwrites it.
struct OutputBuffer {
  int32_t graph = 0;
  std::string name = {};
  int32_t buffer = -1;
};

/// Where a parameter lies in its unit, in elements.
struct UnitParameter {
  int32_t parameter;  ///< index into graph.parameters
  int64_t begin;      ///< multiple of 64
  int64_t numel;
};

struct Unit {
  std::string name;
  std::vector<UnitParameter> parameters = {};
  int64_t numel = 0;        ///< padded: a multiple of ranks * 2048
  int64_t shard_numel = 0;  ///< numel / ranks
  bool frozen = false;      ///< read and never trained: of all below it has a weight alone
  // Persistent buffers, -1 where the unit has none.
  int32_t weight = -1, low = -1, gradient = -1;
  std::vector<int32_t> states = {};  ///< of Request::optimizer, in its order
  /// Copies in host memory of updated(), where these are read from a disk ahead of the body that
  /// updates them; empty where none is.
  std::vector<int32_t> ahead = {};
  /// Second copies in host memory of updated(), of a unit that is updated there before the norm is
  /// known; that of the weight holds no state. `turns` says which copies are the states.
  std::vector<int32_t> second = {};
  int32_t turns = -1;
  bool weight_sharded = false;         ///< stage 3: `weight` holds this rank's shard only
  bool optimizer_sharded = false;      ///< stages 1 to 3; of a frozen unit as weight_sharded
  Tier weight_home = Tier::device;     ///< where `weight` rests
  Tier optimizer_home = Tier::device;  ///< where `low` and states do
  bool updated_on_device = false;      ///< although they rest elsewhere

  /// What an update changes, of a unit that is trained: weight, low and states.
  std::vector<int32_t> updated() const {
    std::vector<int32_t> buffers = {weight, low};
    buffers.insert(buffers.end(), states.begin(), states.end());
    return buffers;
  }
  /// The tier in whose memory the optimizer runs, and where the gradient waits for it.
  Tier optimizer_site() const {
    return optimizer_home == Tier::device || updated_on_device ? Tier::device : Tier::host;
  }
  /// Whether a whole unit has to be put together on the device before an op can read its weights.
  bool is_fetched() const { return weight_sharded || weight_home != Tier::device; }
  bool is_speculated() const { return turns >= 0; }
  /// Whether its optimizer finds anything elsewhere than where it rests.
  bool is_moved() const {
    return !frozen && (optimizer_home != Tier::device || weight_home != Tier::device);
  }
};

enum BodyId : int { kStep, kFinish, kEvaluate, kReadAhead, kDecode, kPrefill, kBodies };

struct Plan {
  Request request;
  /// [0] training micro-batch, [1] evaluation micro-batch; or [0] one token, [1] a chunk of a text
  std::vector<graph::Graph> graphs = {};
  /// [graph] what a micro-batch of shorter samples may run in place of graphs[graph], from the
  /// shortest on: the same ops on the same tensors, some of which have fewer rows. Bodies list the
  /// ops with the operands of the longest form, graphs[graph]; in another form an op touches less
  /// of the same places. Which form a micro-batch takes is data (run::Executor::choose_form()).
  std::array<std::vector<graph::Graph>, 2> shorter = {};
  std::vector<Unit> units = {};
  std::vector<Buffer> buffers = {};
  /// [units][level - 1] of a reproducible step with a loop: where the sum of 2^level micro-batches
  /// rests until that of the next as many is there. The highest one is the gradient where it can
  /// be.
  std::vector<std::vector<int32_t>> counters = {};
  /// step: decide on the last attempt, update and run forward unit by unit, then backward.
  /// finish: decide and update only. evaluate: forward only, sums cleared first. read ahead: makes
  /// copies true, which step and finish need and leave true; due where the host has written what
  /// they are copies of. decode, prefill: a text goes on by one token, by a chunk; a plan has
  /// either these two or the others.
  std::array<Body, kBodies> bodies = {};
  TierBytes arena_bytes{};

  // Buffers that the host or the checkpoint touches.
  std::vector<InputBuffer> inputs = {};
  std::vector<OutputBuffer> outputs = {};
  int32_t step_state = -1;
  std::vector<int32_t> caches = {};  ///< one an attention
  int32_t disk_window = -1;  ///< host memory through which the host reaches what lies on disk

  /// The input or output of a graph by its name, and the only one that `filled_by` writes. Throw
  /// Error(kInternal) where there is none; of the last also where there are several.
  const InputBuffer& input(int32_t graph, std::string_view name) const;
  const InputBuffer& input(int32_t graph, graph::FilledBy filled_by) const;
  int32_t output(int32_t graph, std::string_view name) const;
  /// The training graph's loss.
  int32_t step_sums() const { return output(0, graph::kLossOutput); }

  /// How many forms a graph has, and each: the shorter ones in their order, then the longest.
  size_t forms(int32_t graph) const { return shorter.at(size_t(graph)).size() + 1; }
  const graph::Graph& form(int32_t graph, size_t number) const {
    const std::vector<graph::Graph>& others = shorter.at(size_t(graph));
    return number < others.size() ? others[number] : graphs.at(size_t(graph));
  }

  /// Over everything above; ranks compare it before the first step.
  uint64_t hash() const;
};

/// The number of tensors of Hugging Face's files in a unit: an optimizer has norms of each.
int64_t stored_tensors(const graph::Graph& graph, const Unit& unit);

/// The unit that an op of a body is for, that of its op of the graph or its own: "h.3"; "" of none.
std::string unit_name(const Plan& plan, const Body& body, const PlanOp& op);

/// Bytes [begin, end) of a tier's arena.
struct Stretch {
  int64_t begin = 0, end = 0;
};
/// The stretch of host memory that holds all that disks are read to and written from.
Stretch disk_staging(const Plan& plan);
/// The stretch of the device's memory in which nothing lies between bodies, in whole pages.
Stretch free_between_bodies(const Plan& plan);

/// How many of a plan's units are updated where, among those whose states rest beside the device.
struct UpdateSites {
  int on_host = 0, on_device = 0;
  int speculated = 0;  ///< of those on the host: before the norm is known
};
UpdateSites update_sites(const Plan& plan);

/// Proves a plan safe, from its waits and extents alone (nothing the passes remembered):
///  - no two live buffers overlap; every operand lies in its buffer, every buffer in its arena
///  - every read sees the bytes of the op or the persistent buffer it names, and every conflicting
///    pair of accesses is ordered by lanes and waits (vector clocks), so every order that the
///    executor can take computes what the total order computes
///  - an op of the graph computes with the activations of its micro-batch that it names, wherever
///    these have been moved in between
///  - an op touches the tiers that its lane reaches
///  - waits point backwards in the total order, hence are acyclic
///  - persistent buffers still hold their own bytes at the end of each body
///  - all forms of a graph are the same ops on the same tensors, and hand on the same gradients, so
///    that collectives are the same; in no form does an op reach further than in the longest; and
///    the above holds whichever of two forms follows the other
/// Returns what is wrong, first `limit` findings, each with the ops' and buffers' names; empty:
/// safe.
std::vector<std::string> verify(const Plan& plan, int limit = 10);

}  // namespace zero::plan
