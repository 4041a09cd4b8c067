#include "src/plan/body_writer.hpp"

#include <algorithm>

#include "zero/base/align.hpp"
#include "zero/kernels/optimizer.hpp"

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

int32_t BodyWriter::transient(const std::string& name, Use use, int64_t bytes) {
  plan_.buffers.push_back({.name = name, .bytes = bytes, .use = use});
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
  ZERO_REQUIRE(held == bytes * plan_.request.ranks, plan_.buffers[size_t(buffer)].name, " holds ",
               held, " bytes, neither ", bytes, " nor that of each rank");
  return {.buffer = buffer, .bytes = bytes, .mode = mode, .sharded = true};
}

void BodyWriter::decide() {
  emit({.kind = Kind::decide,
        .operands = {whole(plan_.step_inputs, Mode::read), whole(plan_.step_sums, Mode::update),
                     whole(plan_.step_state, Mode::update)}});
}

void BodyWriter::clear(int32_t buffer) {
  emit({.kind = Kind::clear, .operands = {whole(buffer, Mode::write)}});
}

void BodyWriter::all_reduce(int32_t buffer) {
  if (plan_.request.ranks == 1) return;
  emit({.kind = Kind::all_reduce,
        .lane = Lane::small,
        .in = Dtype::i64,
        .out = Dtype::i64,
        .operands = {whole(buffer, Mode::update)}});
}

void BodyWriter::update(int32_t u) {
  const Unit& to = unit(u);
  const Request& r = request();
  const int64_t numel = to.optimizer_sharded ? to.shard_numel : to.numel;
  const int64_t weight_bytes = numel * int64_t(bytes_of(r.compute));
  const int64_t rest_bytes = to.rest < 0 ? 0 : plan_.buffers[size_t(to.rest)].bytes;
  const PlanOp adam{
      .kind = Kind::adam,
      .unit = u,
      .in = layout_.element,
      .out = r.compute,
      .round = layout_.round,
      .operands = {
          whole(plan_.step_state, Mode::read), owned(to.weight, weight_bytes, Mode::update),
          owned(to.rest, rest_bytes, Mode::update), owned(to.momentum, numel * 4, Mode::update),
          owned(to.variance, numel * 4, Mode::update),
          owned(to.gradient, numel * int64_t(bytes_of(layout_.element)), Mode::read)}};
  if (r.optimizer == OptimizerKind::lamb) {
    lamb(u, adam);
  } else {
    emit(adam);
  }
  if (to.optimizer_sharded && !to.weight_sharded) {
    const int64_t shard = to.shard_numel * int64_t(bytes_of(r.compute));
    all_gather(u, {.element = r.compute,
                   .shard = owned(to.weight, shard, Mode::read),
                   .full = whole(to.weight, Mode::update),
                   .bucket_numel = r.gather_bucket_numel});
  }
}

// A trust ratio needs the norms of the whole tensor, so LAMB is two passes around a small
// all-reduce.
void BodyWriter::lamb(int32_t u, const PlanOp& adam) {
  const Unit& to = unit(u);
  const int64_t bytes = int64_t(to.placements.size()) * int64_t(sizeof(kernels::LambNorms));
  const int32_t norms = transient(to.name + ".norms", Use::step_data, bytes);
  clear(norms);
  PlanOp first = adam;
  first.kind = Kind::lamb_norms;
  first.operands[1].mode = Mode::read;
  first.operands[2].mode = Mode::read;
  first.operands.push_back(whole(norms, Mode::update));
  emit(first);
  if (to.optimizer_sharded) all_reduce(norms);
  PlanOp second = adam;
  second.kind = Kind::lamb_apply;
  second.operands[3].mode = Mode::read;
  second.operands[4].mode = Mode::read;
  second.operands.push_back(whole(norms, Mode::read));
  emit(second);
}

void BodyWriter::all_gather(int32_t u, Collection parts) {
  const int64_t shard_numel = unit(u).shard_numel;
  for (const PieceRange& piece : cut_pieces(shard_numel, request().ranks, parts.bucket_numel)) {
    emit({.kind = Kind::all_gather,
          .lane = Lane::gather,
          .unit = u,
          .in = parts.element,
          .out = parts.element,
          .shard_numel = shard_numel,
          .piece_begin = piece.begin,
          .piece_numel = piece.numel,
          .operands = {parts.shard, parts.full}});
    parts.full.mode = Mode::update;
  }
}

}  // namespace zero::plan
