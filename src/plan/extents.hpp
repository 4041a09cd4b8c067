#pragma once

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Bytes of the arena that an operand may touch on any rank: a shard counts as the whole range that
/// the ranks' shards make up, so that what is proved holds on every rank.
struct Extent {
  int64_t begin;
  int64_t end;
};

inline Extent extent_of(const Plan& plan, const Operand& operand) {
  const int64_t begin = plan.buffers[size_t(operand.buffer)].offset + operand.offset;
  return {begin, begin + operand.bytes * (operand.sharded ? plan.request.ranks : 1)};
}

/// A shard is written only in part, seen over all ranks: for the rest it is an update.
inline Mode mode_of(const Operand& operand) {
  return operand.sharded && operand.mode == Mode::write ? Mode::update : operand.mode;
}

}  // namespace zero::plan
