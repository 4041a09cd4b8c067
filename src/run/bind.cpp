#include <algorithm>
#include <cstring>
#include <utility>

#include "src/run/bound_op.hpp"
#include "zero/graph/operation.hpp"
#include "zero/kernels/tree_sum.hpp"
#include "zero/plan/lifetimes.hpp"

namespace zero::run {
namespace {

using plan::Kind;

/// The elements [begin, begin + numel) of a unit.
struct UnitSlice {
  const plan::Unit& unit;
  int64_t begin;
  int64_t numel;
};

/// Sets the columns of several tensors in a segment.
void set_ends(std::span<const int64_t> ends, kernels::TensorSegment& segment) {
  segment.tensors = int32_t(ends.size());
  ZERO_REQUIRE(segment.tensors <= kernels::TensorSegment::kTensorsMost, segment.tensors,
               " tensors side by side, of ", kernels::TensorSegment::kTensorsMost, " at most");
  std::ranges::copy(ends, segment.ends);
}

/// Returns each parameter's part of the slice, relative to the slice. `decay` applies to parameters
/// that decay. `tensor` counts the unit's stored tensors. Gaps belong to no segment.
std::vector<kernels::TensorSegment> tensor_segments(const graph::Graph& graph,
                                                    const UnitSlice& slice, float decay) {
  std::vector<kernels::TensorSegment> segments;
  int32_t tensor = 0;
  for (const plan::UnitParameter& place : slice.unit.parameters) {
    const graph::Parameter& parameter = graph.parameters[size_t(place.parameter)];
    const graph::StoredForm& form = parameter.stored;
    const int32_t first = std::exchange(tensor, tensor + int32_t(form.names.size()));
    const int64_t begin = std::max(place.begin - slice.begin, int64_t(0));
    const int64_t end = std::min(place.begin + place.numel - slice.begin, slice.numel);
    if (begin >= end) continue;
    segments.push_back({.begin = begin,
                        .end = end,
                        .weight_decay = parameter.decays ? decay : 0.0f,
                        .tensor = first,
                        .offset = slice.begin + begin - place.begin});
    if (form.names.size() > 1)
      set_ends(graph::column_ends(form, parameter.columns), segments.back());
  }
  return segments;
}

/// Returns the segments of a slice. Joins neighbours of equal decay.
std::vector<kernels::OptimizerSegment> joined_segments(const graph::Graph& graph,
                                                       const UnitSlice& slice, float decay) {
  std::vector<kernels::OptimizerSegment> joined;
  for (const kernels::TensorSegment& part : tensor_segments(graph, slice, decay)) {
    const bool touches = !joined.empty() && joined.back().end == part.begin &&
                         joined.back().weight_decay == part.weight_decay;
    if (touches) {
      joined.back().end = part.end;
    } else {
      joined.push_back({part.begin, part.end, part.weight_decay});
    }
  }
  return joined;
}

struct KindRow {
  BoundOp::Function function;
  size_t operands;  ///< 0: any number, or by the graph's op or the optimizer
};

KindRow row_of(Kind kind) {
  static constexpr KindRow kRows[] = {
      {run_compute, 0},     {run_decide, 3},         {run_update, 0},     {run_add_norms, 0},
      {run_apply_norms, 0}, {run_speculate, 0},      {run_settle, 0},     {run_sum_of_squares, 2},
      {run_accumulate, 2},  {run_carry, 0},          {run_round_sum, 2},  {run_clear, 0},
      {run_all_gather, 2},  {run_reduce_scatter, 3}, {run_all_reduce, 1}, {run_copy, 2},
      {run_disk_read, 2},   {run_disk_write, 2},     {run_digest, 3},
  };
  static_assert(std::size(kRows) == size_t(Kind::count_));
  return kRows[size_t(kind)];
}

void require_operands(const plan::PlanOp& op, size_t wanted) {
  ZERO_REQUIRE(op.operands.size() == wanted, plan::name_of(op.kind), " of unit ", op.unit, " has ",
               op.operands.size(), " operands, not ", wanted);
}

/// A check of the operands' sizes of one op.
class Checker {
 public:
  explicit Checker(const plan::PlanOp& op) : op_(op) {}

  void bytes(size_t i, int64_t expected) const {
    const plan::Operand& operand = op_.operands[i];
    ZERO_REQUIRE(operand.buffer < 0 || operand.bytes == expected, plan::name_of(op_.kind),
                 " of unit ", op_.unit, ": operand ", i, " has ", operand.bytes, " bytes, not ",
                 expected);
  }

 private:
  const plan::PlanOp& op_;
};

/// Returns the number of a rank's micro-batch in its step, or in a round of an evaluation. An
/// audit, behind all micro-batches, repeats the first one of the next rank.
int64_t sample_number(const BindTarget& target, int32_t graph, int64_t micro) {
  const plan::Request& request = target.plan.request;
  const int rank = target.memory.rank;
  if (graph > 0) return micro * request.ranks + rank;
  if (micro == request.micro_batches) return request.number_of(0, (rank + 1) % request.ranks);
  return request.number_of(micro, rank);
}

void bind_compute(const BindTarget& target, BoundOp& bound) {
  const plan::PlanOp& op = *bound.op;
  const graph::Op& graph_op = bound.graph->ops.at(size_t(op.graph_op));
  const size_t tensors = graph_op.inputs.size() + graph_op.outputs.size();
  ZERO_REQUIRE(op.operands.size() == tensors || op.operands.size() == tensors + 1,
               graph_op.kind->name, " has ", op.operands.size(), " operands, not ", tensors,
               " and scratch");
  if (op.sums) {
    const graph::TensorId gradient = graph::sum_output(graph_op);
    ZERO_REQUIRE(gradient != graph::kNone, graph_op.kind->name, " cannot add to a sum");
    const int64_t numel = (*bound.graph)[gradient].shape.numel();
    Checker(op).bytes(graph_op.inputs.size(), numel * int64_t(sizeof(float)));
  }
  const auto graph = int32_t(bound.graph - target.plan.graphs.data());
  bound.sample_offset = sample_number(target, graph, op.micro) * bound.graph->samples;
  if (target.forms != nullptr) bound.chosen = target.forms->of(graph, op.micro);
}

void bind_slots(const BindTarget& target, BoundOp& bound) {
  const plan::PlanOp& op = *bound.op;
  bound.carries = int(op.operands.size());
  if (!op.counts) return;
  plan::Operand slot = op.operands[op.kind == Kind::carry ? plan::kSource : plan::kTarget];
  for (const int32_t buffer : target.plan.counters.at(size_t(op.unit))) {
    slot.buffer = buffer;
    bound.slots.push_back(address(target.plan, target.memory, slot));
  }
}

/// Sets the strides of an op in a loop. Checks that its operands fit their buffers in the last
/// round, too.
void bind_rounds(const BindTarget& target, const plan::Body& body, BoundOp& bound) {
  const auto place = bound.op - body.ops.data();
  const bool loops = place >= body.loop.begin && place < body.loop.end;
  if (loops) bound.micro_a_round = body.loop.micro_batches;
  if (bound.op->counts) bound.choose_slot();
  if (!loops) return;
  const plan::Request& request = target.plan.request;
  const int64_t numbers = request.number_of(body.loop.micro_batches, 0) - request.number_of(0, 0);
  bound.samples_a_round = numbers * bound.graph->samples;
  for (size_t i = 0; i < bound.op->operands.size(); ++i) {
    plan::Operand operand = bound.op->operands[i];
    if (operand.buffer < 0 || operand.stride == 0) continue;
    bound.strides.push_back({.operand = i, .bytes = operand.stride});
    operand.offset = plan::offset_of(operand, body.loop.rounds - 1);
    address(target.plan, target.memory, operand);
  }
}

/// Checks that the second copy's weight, low and states are as long as the first copy's.
void check_second(const plan::PlanOp& op, const OptimizerForm& optimizer) {
  const Checker check(op);
  check.bytes(plan::turns_operand(optimizer), sizeof(kernels::Speculation));
  const size_t second = plan::second_operand(optimizer);
  for (size_t i = second; i < op.operands.size(); ++i) {
    check.bytes(i, op.operands[plan::kWeightOperand + i - second].bytes);
  }
}

/// Returns the number of operands of an optimizer's op: all up to the gradient, then norms or the
/// second copy.
size_t optimizer_operands(const plan::PlanOp& op, const OptimizerForm& optimizer) {
  const size_t gradient = plan::gradient_operand(optimizer);
  if (plan::has_second(op.kind)) return plan::second_operand(optimizer) + gradient - 1;
  return gradient + (op.kind == Kind::update ? 1 : 2);
}

void bind_optimizer(const BindTarget& target, BoundOp& bound) {
  const plan::Unit& unit = target.plan.units.at(size_t(bound.op->unit));
  const plan::Request& request = target.plan.request;
  const int64_t begin =
      unit.optimizer_sharded ? unit.groups().shard_of(target.memory.rank) * unit.shard_numel : 0;
  const int64_t numel = unit.optimizer_sharded ? unit.shard_numel : unit.numel;
  const size_t gradient = plan::gradient_operand(request.optimizer);
  require_operands(*bound.op, optimizer_operands(*bound.op, request.optimizer));
  const Checker check(*bound.op);
  check.bytes(plan::kWeightOperand, numel * int64_t(bytes_of(request.compute)));
  check.bytes(plan::kLowOperand, numel * (request.compute == Dtype::bf16 ? 2 : 4));
  for (size_t i = 0; i < request.optimizer.states.size(); ++i) {
    const Dtype dtype = request.optimizer.states[i].dtype;
    check.bytes(plan::kFirstState + i, numel * int64_t(bytes_of(dtype)));
  }
  check.bytes(gradient, numel * int64_t(bytes_of(bound.op->in)));
  // The parameters are those of the training graph, in any body.
  const graph::Graph& graph = target.plan.graphs.at(0);
  const UnitSlice slice{unit, begin, numel};
  bound.unit_begin = begin;
  if (plan::has_second(bound.op->kind)) check_second(*bound.op, request.optimizer);
  if (bound.op->kind == Kind::update || plan::has_second(bound.op->kind)) {
    bound.segments = joined_segments(graph, slice, request.weight_decay);
  } else {
    const int64_t norms = plan::stored_tensors(graph, unit);
    check.bytes(gradient + 1, norms * int64_t(sizeof(kernels::TensorNorms)));
    bound.tensor_segments = tensor_segments(graph, slice, request.weight_decay);
  }
}

void check_collective(const BindTarget& target, const plan::PlanOp& op) {
  const bool gather = op.kind == Kind::all_gather;
  const Dtype shard = gather ? op.in : op.out;
  const Checker check(op);
  check.bytes(gather ? 0 : 1, op.shard_numel * int64_t(bytes_of(shard)));
  const int ranks = target.plan.request.groups().ranks_of(op.team);
  check.bytes(gather ? 1 : 0, op.shard_numel * ranks * int64_t(bytes_of(op.in)));
  const int64_t sums = kernels::group_sums(ranks) * op.piece_numel;
  if (!gather) check.bytes(2, sums * int64_t(sizeof(float)));
  ZERO_REQUIRE(op.piece_begin >= 0 && op.piece_numel > 0 &&
                   op.piece_begin + op.piece_numel <= op.shard_numel,
               plan::name_of(op.kind), " of elements ", op.piece_begin, " + ", op.piece_numel,
               " of a shard of ", op.shard_numel);
}

void bind_sums(const plan::PlanOp& op) {
  const Checker check(op);
  if (op.kind == Kind::carry) {
    for (size_t i = 0; i < op.operands.size(); ++i)
      check.bytes(i, op.operands[plan::kSource].bytes);
    return;
  }
  const bool rounds = op.kind == Kind::round_sum;
  const int64_t numel = op.operands[rounds ? plan::kSource : plan::kTarget].bytes / 4;
  check.bytes(rounds ? plan::kTarget : plan::kSource,
              numel * int64_t(bytes_of(rounds ? op.out : op.in)));
}

/// Returns the offset in bytes of this rank's part of an operand.
int64_t place_of(const plan::Plan& plan, const RankMemory& memory, const plan::Operand& operand) {
  if (!operand.sharded) return 0;
  return plan.request.groups().place(operand.team, memory.rank) * operand.bytes;
}

/// True if an operand has an offset in a file and no address.
bool is_on_disk(const BindTarget& target, const plan::Operand& operand) {
  if (operand.buffer < 0) return false;
  const plan::Buffer& buffer = target.plan.buffers.at(size_t(operand.buffer));
  return buffer.tier == plan::Tier::nvme && target.memory.base[size_t(buffer.tier)] == nullptr;
}

/// Refuses operands that are not whole pages, because a disk moves whole pages. Only the last page
/// of a buffer may be used in part.
void require_pages(const BindTarget& target, const plan::PlanOp& op) {
  for (const plan::Operand& operand : op.operands) {
    const int64_t held = target.plan.buffers[size_t(operand.buffer)].bytes;
    const bool whole = operand.bytes % plan::kPageBytes == 0 || operand.bytes == held;
    ZERO_REQUIRE(whole, plan::name_of(op.kind), " of unit ", op.unit, ": ", operand.bytes,
                 " bytes of ", held, " are no whole pages");
  }
}

void bind_transfer(const BindTarget& target, BoundOp& bound) {
  const std::vector<plan::Operand>& operands = bound.op->operands;
  Checker(*bound.op).bytes(plan::kTarget, operands[plan::kSource].bytes);
  for (const plan::Operand& operand : operands) {
    if (!is_on_disk(target, operand)) continue;
    require_pages(target, *bound.op);
    bound.disk_offset = target.plan.buffers[size_t(operand.buffer)].offset + operand.offset +
                        place_of(target.plan, target.memory, operand);
  }
}

void bind_constants(const BindTarget& target, BoundOp& bound) {
  switch (bound.op->kind) {
    case Kind::compute:
      return bind_compute(target, bound);
    case Kind::update:
    case Kind::add_norms:
    case Kind::apply_norms:
    case Kind::speculate:
    case Kind::settle:
      return bind_optimizer(target, bound);
    case Kind::all_gather:
    case Kind::reduce_scatter:
      return check_collective(target, *bound.op);
    case Kind::accumulate:
    case Kind::carry:
    case Kind::round_sum:
      return bind_sums(*bound.op);
    case Kind::copy:
    case Kind::disk_read:
    case Kind::disk_write:
      return bind_transfer(target, bound);
    default:
      return;
  }
}

}  // namespace

ChosenForms::ChosenForms(const plan::Plan& plan) {
  for (size_t graph = 0; graph < graphs_.size(); ++graph) {
    if (plan.shorter[graph].empty()) continue;
    const int micro_batches = graph == 0 ? plan.request.micro_batches + plan.request.audits : 1;
    graphs_[graph].assign(size_t(micro_batches), &plan.graphs[graph]);
  }
}

void ChosenForms::choose(const plan::Plan& plan, int32_t graph, int64_t micro, size_t form) {
  ZERO_REQUIRE(form < plan.forms(graph), "form ", form, " of graph ", graph, ", which has ",
               plan.forms(graph));
  std::vector<const graph::Graph*>& graphs = graphs_.at(size_t(graph));
  if (!graphs.empty()) graphs.at(size_t(micro)) = &plan.form(graph, form);
}

const graph::Graph* const* ChosenForms::of(int32_t graph, int32_t micro) const {
  const std::vector<const graph::Graph*>& graphs = graphs_.at(size_t(graph));
  return graphs.empty() ? nullptr : &graphs.at(size_t(micro));
}

int32_t present_buffer(const plan::Plan& plan, const RankMemory& memory, int32_t buffer) {
  const plan::Buffer& named = plan.buffers.at(size_t(buffer));
  if (named.twin < 0) return buffer;
  kernels::Speculation turns;
  std::memcpy(&turns, buffer_bytes(plan, memory, named.turns).data(), sizeof turns);
  return turns.second != 0 ? named.twin : buffer;
}

std::span<std::byte> buffer_bytes(const plan::Plan& plan, const RankMemory& memory,
                                  int32_t buffer) {
  const plan::Buffer& place = plan.buffers.at(size_t(buffer));
  const size_t tier = size_t(place.tier);
  ZERO_REQUIRE(place.offset >= 0 && place.offset + place.bytes <= plan.arena_bytes[tier], "buffer ",
               place.name, " at ", place.offset, " + ", place.bytes, " leaves its arena of ",
               plan.arena_bytes[tier], " bytes");
  ZERO_REQUIRE(memory.base[tier] != nullptr, "buffer ", place.name, " lies on disk");
  return {memory.base[tier] + place.offset, size_t(place.bytes)};
}

int32_t inputs_buffer(const plan::Plan& plan, plan::BodyId body, int64_t bytes) {
  const plan::Body& run = plan.bodies.at(body);
  ZERO_REQUIRE(!run.name.empty(), "the plan has no body ", int(body));
  const int32_t buffer = plan.input(run.graph, graph::FilledBy::step).buffer;
  const int64_t wanted = plan.buffers.at(size_t(buffer)).bytes;
  ZERO_REQUIRE(wanted == bytes, "body ", run.name, " takes inputs of ", wanted, " bytes, not ",
               bytes);
  return buffer;
}

void* address(const plan::Plan& plan, const RankMemory& memory, const plan::Operand& operand) {
  if (operand.buffer < 0) return nullptr;
  const std::span<std::byte> bytes = buffer_bytes(plan, memory, operand.buffer);
  const int64_t extent = operand.bytes * plan::parts_of(plan, operand);
  ZERO_REQUIRE(operand.offset >= 0 && operand.offset + extent <= int64_t(bytes.size()),
               "operand at ", operand.offset, " + ", extent, " leaves buffer ",
               plan.buffers[size_t(operand.buffer)].name, " of ", bytes.size(), " bytes");
  return bytes.data() + operand.offset + place_of(plan, memory, operand);
}

/// Refuses an op on a state with two copies unless the op looks up the current copy as it runs.
void require_no_twin(const plan::Plan& plan, const plan::PlanOp& op, const plan::Operand& operand) {
  if (operand.buffer < 0 || plan::has_second(op.kind)) return;
  const plan::Buffer& buffer = plan.buffers.at(size_t(operand.buffer));
  ZERO_REQUIRE(buffer.twin < 0, plan::name_of(op.kind), " of unit ", op.unit, " cannot know which ",
               "copy holds ", buffer.name);
}

BoundOp bind(const BindTarget& target, const plan::Body& body, const plan::PlanOp& op) {
  const KindRow row = row_of(op.kind);
  if (row.operands > 0) require_operands(op, row.operands);
  BoundOp bound;
  bound.function = row.function;
  bound.plan = &target.plan;
  bound.op = &op;
  bound.graph = &target.plan.graphs.at(size_t(body.graph));
  bound.rules = &target.rules;
  bound.operands.reserve(op.operands.size());
  for (const plan::Operand& operand : op.operands) {
    const bool on_disk = is_on_disk(target, operand);
    ZERO_REQUIRE(!on_disk || plan::is_transfer(op.kind), plan::name_of(op.kind), " of unit ",
                 op.unit, " cannot touch ", target.plan.buffers[size_t(operand.buffer)].name,
                 " on disk");
    require_no_twin(target.plan, op, operand);
    bound.operands.push_back(on_disk ? nullptr : address(target.plan, target.memory, operand));
  }
  bind_constants(target, bound);
  bind_slots(target, bound);
  bind_rounds(target, body, bound);
  return bound;
}

}  // namespace zero::run
