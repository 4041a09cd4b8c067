#pragma once

#include <vector>

#include "zero/base/align.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::plan {

/// The bytes of an arena that an operand may touch on any rank. A shard counts as the range of all
/// ranks' shards, so a proof holds on every rank.
struct Extent {
  Tier tier;
  int64_t begin;
  int64_t end;
};

/// Returns the extent of a placed buffer in the arena of its tier.
inline Extent extent_of(const Buffer& buffer) {
  return {buffer.tier, buffer.offset, buffer.offset + buffer.bytes};
}

/// Returns the number of equal parts of which an operand is one.
inline int64_t parts_of(const Plan& plan, const Operand& operand) {
  return operand.sharded ? plan.request.groups().ranks_of(operand.team) : 1;
}

/// Returns the extent that an operand of `plan` touches over the first `rounds` rounds of a loop
/// (plan::Loop).
inline Extent extent_of(const Plan& plan, const Operand& operand, int64_t rounds = 1) {
  const Buffer& buffer = plan.buffers[size_t(operand.buffer)];
  const int64_t begin = buffer.offset + operand.offset;
  const int64_t end =
      buffer.offset + offset_of(operand, rounds - 1) + operand.bytes * parts_of(plan, operand);
  return {buffer.tier, begin, end};
}

/// Returns a buffer's bytes in its arena, rounded up to the alignment of its tier.
inline int64_t placed_bytes(const Buffer& buffer) {
  constexpr int64_t kAlignments[] = {kExtentAlignBytes, kPageBytes, kDiskExtentAlignBytes};
  return round_up(buffer.bytes, kAlignments[size_t(buffer.tier)]);
}

/// Returns the mode of an operand over all ranks. A rank writes only part of a sharded operand, so
/// writing one is an update.
inline Mode mode_of(const Operand& operand) {
  return operand.sharded && operand.mode == Mode::write ? Mode::update : operand.mode;
}

/// The positions from the first op that touches a buffer to the last before its bytes are reused.
struct Lifetime {
  int32_t buffer;
  int32_t birth;
  int32_t death;
};

/// Returns the lifetimes of the transient buffers of a plan in one of its bodies, one for each time
/// that a buffer begins anew. Copies (Buffer::copy_of) live from the start of the body. A copy that
/// is filled anew has a second life from there to the end. Values that a loop hands to its next
/// round end like those of the equal ops before the loop.
std::vector<Lifetime> find_lifetimes(const Plan& plan, const Body& body);

}  // namespace zero::plan
