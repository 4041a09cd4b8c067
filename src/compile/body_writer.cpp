#include "src/compile/body_writer.hpp"

#include <algorithm>

#include "zero/base/align.hpp"

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
  ZERO_REQUIRE(held == bytes * plan_.request.ranks, plan_.buffers[size_t(buffer)].name, " holds ",
               held, " bytes, neither ", bytes, " nor that of each rank");
  return {.buffer = buffer, .bytes = bytes, .mode = mode, .sharded = true};
}

void BodyWriter::clear(int32_t buffer, Lane lane) {
  emit({.kind = Kind::clear, .lane = lane, .operands = {whole(buffer, Mode::write)}});
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
