#include "src/compile/body_writer.hpp"

#include <algorithm>

#include "zero/base/align.hpp"
#include "zero/graph/operation.hpp"

namespace zero::plan {

std::vector<PieceRange> cut_pieces(int64_t shard_numel, int ranks, int64_t bucket_numel) {
  int64_t longest = std::max<int64_t>(1, bucket_numel / ranks);
  if (longest > kTensorAlignNumel) longest = longest / kTensorAlignNumel * kTensorAlignNumel;
  std::vector<PieceRange> pieces;
  for (int64_t begin = 0; begin < shard_numel; begin += longest) {
    pieces.push_back({.begin = begin, .numel = std::min(longest, shard_numel - begin)});
  }
  return pieces;
}

int32_t BodyWriter::transient(const std::string& name, Use use, int64_t bytes, Tier tier) {
  plan_.buffers.push_back({.name = name, .bytes = bytes, .tier = tier, .use = use});
  return int32_t(plan_.buffers.size()) - 1;
}

Operand BodyWriter::whole(int32_t buffer, Mode mode) const {
  if (buffer < 0) return {};
  return {.buffer = buffer, .bytes = plan_.buffers[size_t(buffer)].bytes, .mode = mode};
}

Operand BodyWriter::owned(int32_t buffer, int64_t bytes, Mode mode) const {
  if (buffer < 0) return {};
  const int64_t held = plan_.buffers[size_t(buffer)].bytes;
  if (held == bytes) return whole(buffer, mode);
  const Team team = plan_.request.has_groups() ? Team::across : Team::all;
  ZERO_REQUIRE(held == bytes * plan_.request.groups().ranks_of(team),
               plan_.buffers[size_t(buffer)].name, " holds ", held, " bytes, neither ", bytes,
               " nor that of each rank of ", name_of(team));
  return {.buffer = buffer, .bytes = bytes, .mode = mode, .sharded = true, .team = team};
}

void BodyWriter::clear(const Operand& bytes, Lane lane) {
  emit({.kind = Kind::clear, .lane = lane, .operands = {bytes}});
}

Operand BodyWriter::digests(bool of_audit) const {
  const int64_t bytes = std::ssize(plan_.units) * int64_t(sizeof(int64_t));
  return {.buffer = plan_.audit_sums,
          .offset = of_audit ? bytes : 0,
          .bytes = bytes,
          .mode = Mode::write};
}

void BodyWriter::all_reduce(int32_t buffer) {
  if (plan_.request.ranks == 1) return;
  emit({.kind = Kind::all_reduce,
        .lane = Lane::small,
        .in = Dtype::i64,
        .out = Dtype::i64,
        .operands = {whole(buffer, Mode::update)}});
}

void BodyWriter::transfer(int32_t u, const Operand& from, const Operand& to) {
  const Tier source = tier_of(from), target = tier_of(to);
  PlanOp op{.kind = Kind::copy, .unit = u, .operands = {from, to}};
  op.operands[kSource].mode = Mode::read;
  if (source == Tier::nvme) {
    op.kind = Kind::disk_read;
    op.lane = Lane::disk_read;
  } else if (target == Tier::nvme) {
    op.kind = Kind::disk_write;
    op.lane = Lane::disk_write;
  } else {
    op.lane = target == Tier::device ? Lane::h2d : Lane::d2h;
  }
  emit(std::move(op));
}

void BodyWriter::move(int32_t u, const Operand& from, const Operand& to) {
  const bool neighbours = tier_of(from) == Tier::host || tier_of(to) == Tier::host;
  if (neighbours) return transfer(u, from, to);
  transfer(u, whole(bring(u, from, Tier::host), Mode::read), to);
}

int32_t BodyWriter::bring(int32_t u, const Operand& from, Tier to) {
  const std::string name = plan_.buffers[size_t(from.buffer)].name + "." + name_of(to);
  const int32_t buffer = transient(name, Use::staging, from.bytes, to);
  move(u, from, whole(buffer, Mode::write));
  return buffer;
}

void BodyWriter::all_gather(int32_t u, Collection parts) {
  const int ranks = request().groups().ranks_of(parts.team);
  const int64_t shard_numel =
      parts.team == Team::group ? unit(u).weight_shard_numel() : unit(u).shard_numel;
  for (const PieceRange& piece : cut_pieces(shard_numel, ranks, parts.bucket_numel)) {
    emit({.kind = Kind::all_gather,
          .lane = Lane::gather,
          .unit = u,
          .in = parts.element,
          .out = parts.element,
          .team = parts.team,
          .shard_numel = shard_numel,
          .piece_begin = piece.begin,
          .piece_numel = piece.numel,
          .operands = {parts.shard, parts.full}});
    parts.full.mode = Mode::update;
  }
}

ComputeWriter::ComputeWriter(BodyWriter& writer, int32_t graph)
    : writer_(writer), graph_index_(graph) {
  const graph::Graph& to = writer.plan().graphs[size_t(graph)];
  parameter_of_ = graph::parameter_index(to);
  summed_ = summed_by_their_op(to);
  place_.resize(to.parameters.size());
  for (const Unit& unit : writer.plan().units) {
    for (const UnitParameter& place : unit.parameters) place_[size_t(place.parameter)] = &place;
    weights_.push_back(unit.is_fetched() ? -1 : unit.weight);
    gradients_.push_back(-1);
    sums_.emplace_back();
  }
  data_.resize(to.tensors.size());
  begin_micro(0);
}

void ComputeWriter::set_data(graph::TensorId tensor, const Operand& place) {
  if (tensor != graph::kNone) data_[size_t(tensor)] = place;
}

void ComputeWriter::place_data() {
  const Plan& plan = writer_.plan();
  const graph::Graph& to = plan.graphs[size_t(graph_index_)];
  for (const InputBuffer& input : plan.inputs) {
    if (input.graph != graph_index_) continue;
    set_data(to.input(input.name),
             {.buffer = input.buffer, .offset = micro_ * input.stride, .bytes = input.bytes});
  }
  for (const OutputBuffer& output : plan.outputs) {
    if (output.graph == graph_index_) place_output(output);
  }
  for (const ConstantBuffer& constant : plan.constants) {
    if (constant.graph == graph_index_)
      set_data(to.constants[size_t(constant.index)].tensor, constant.buffer);
  }
  set_data(to.step_state, plan.step_state);
}

void ComputeWriter::place_output(const OutputBuffer& output) {
  const Plan& plan = writer_.plan();
  int32_t buffer = output.buffer;
  if (writer_.is_audit(micro_)) {
    buffer =
        writer_.transient("audit." + output.name, Use::scratch, plan.buffers[size_t(buffer)].bytes);
    writer_.clear(buffer);
  }
  set_data(plan.graphs[size_t(graph_index_)].output(output.name), buffer);
}

void ComputeWriter::begin_micro(int32_t micro) {
  micro_ = micro;
  activations_.assign(parameter_of_.size(), -1);
}

void ComputeWriter::emit(int32_t index) {
  const graph::Graph& graph = writer_.plan().graphs[size_t(graph_index_)];
  const graph::Op& op = graph.ops[size_t(index)];
  PlanOp made{.kind = Kind::compute, .graph_op = index, .micro = micro_};
  const auto is_in = [](const std::vector<graph::TensorId>& list, graph::TensorId tensor) {
    return std::find(list.begin(), list.end(), tensor) != list.end();
  };
  for (graph::TensorId tensor : op.inputs) {
    made.operands.push_back(operand(tensor, is_in(op.outputs, tensor) ? Mode::update : Mode::read));
  }
  for (graph::TensorId tensor : op.outputs) {
    made.operands.push_back(operand(tensor, is_in(op.inputs, tensor) ? Mode::update : Mode::write));
  }
  write_to_sum(op, made);
  const int64_t scratch = op.kind->scratch_bytes(graph, op, writer_.request().threads);
  made.operands.push_back(
      scratch == 0
          ? Operand{}
          : writer_.whole(writer_.transient("scratch", Use::scratch, scratch), Mode::write));
  writer_.emit(std::move(made));
}

void ComputeWriter::write_to_sum(const graph::Op& op, PlanOp& made) const {
  const graph::Graph& graph = writer_.plan().graphs[size_t(graph_index_)];
  const graph::TensorId gradient = graph::sum_output(op);
  if (gradient == graph::kNone || graph[gradient].role != graph::Role::gradient) return;
  const size_t parameter = size_t(parameter_of_[size_t(graph[gradient].parameter)]);
  if (!summed_[parameter]) return;
  const Sum& sum = sums_[size_t(graph.parameters[parameter].unit)];
  if (sum.buffer < 0) return;
  made.sums = true;
  made.add = sum.add;
  made.operands[op.inputs.size()] = {.buffer = sum.buffer,
                                     .offset = place_[parameter]->begin * 4,
                                     .bytes = place_[parameter]->numel * 4,
                                     .mode = sum.add ? Mode::update : Mode::write};
}

Operand ComputeWriter::operand(graph::TensorId tensor, Mode mode) {
  if (tensor == graph::kNone) return {};
  const graph::Graph& graph = writer_.plan().graphs[size_t(graph_index_)];
  switch (graph[tensor].role) {
    case graph::Role::parameter:
      return part_of_unit(parameter_of_[size_t(tensor)], weights_, mode);
    case graph::Role::gradient:
      return part_of_unit(parameter_of_[size_t(graph[tensor].parameter)], gradients_, mode);
    case graph::Role::activation:
      return writer_.whole(activation(tensor), mode);
    default:
      break;
  }
  Operand data = data_[size_t(tensor)];
  ZERO_REQUIRE(data.buffer >= 0, "tensor ", graph[tensor].name, " has no buffer in the plan");
  data.mode = mode;
  return data;
}

Operand ComputeWriter::part_of_unit(int32_t parameter, const std::vector<int32_t>& buffers,
                                    Mode mode) const {
  const graph::Graph& graph = writer_.plan().graphs[size_t(graph_index_)];
  const UnitParameter& place = *place_[size_t(parameter)];
  const int64_t element = int64_t(bytes_of(writer_.request().compute));
  const int32_t buffer = buffers[size_t(graph.parameters[size_t(parameter)].unit)];
  ZERO_REQUIRE(buffer >= 0, "parameter ", parameter, " is used while its unit has no buffer");
  return {.buffer = buffer,
          .offset = place.begin * element,
          .bytes = place.numel * element,
          .mode = mode};
}

int32_t ComputeWriter::activation(graph::TensorId tensor) {
  int32_t& buffer = activations_[size_t(tensor)];
  if (buffer < 0) {
    const graph::Tensor& made = writer_.plan().graphs[size_t(graph_index_)][tensor];
    buffer = writer_.transient(made.name, Use::activations, made.bytes());
  }
  return buffer;
}

}  // namespace zero::plan
