#pragma once

#include "zero/base/align.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Bytes of a tier's arena that an operand may touch on any rank: a shard counts as the whole range
/// that the ranks' shards make up, so that what is proved holds on every rank.
struct Extent {
  Tier tier;
  int64_t begin;
  int64_t end;
};

inline Extent extent_of(const Buffer& buffer) {
  return {buffer.tier, buffer.offset, buffer.offset + buffer.bytes};
}

inline Extent extent_of(const Plan& plan, const Operand& operand) {
  const Buffer& buffer = plan.buffers[size_t(operand.buffer)];
  const int64_t begin = buffer.offset + operand.offset;
  return {buffer.tier, begin, begin + operand.bytes * (operand.sharded ? plan.request.ranks : 1)};
}

/// What a buffer takes of its arena, so that the next one begins where its tier wants it.
inline int64_t placed_bytes(const Buffer& buffer) {
  constexpr int64_t kAlignments[] = {kExtentAlignBytes, kPageBytes, kDiskExtentAlignBytes};
  return round_up(buffer.bytes, kAlignments[size_t(buffer.tier)]);
}

/// A shard is written only in part, seen over all ranks: for the rest it is an update.
inline Mode mode_of(const Operand& operand) {
  return operand.sharded && operand.mode == Mode::write ? Mode::update : operand.mode;
}

}  // namespace zero::plan
