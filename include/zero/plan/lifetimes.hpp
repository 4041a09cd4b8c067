#pragma once

#include <vector>

#include "zero/base/align.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/rounds.hpp"

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

/// In all of so many rounds of a loop (plan::Loop) together.
inline Extent extent_of(const Plan& plan, const Operand& operand, int64_t rounds = 1) {
  const Buffer& buffer = plan.buffers[size_t(operand.buffer)];
  const int64_t begin = buffer.offset + operand.offset;
  const int64_t end = buffer.offset + offset_of(operand, rounds - 1) +
                      operand.bytes * (operand.sharded ? plan.request.ranks : 1);
  return {buffer.tier, begin, end};
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

/// From the first op that touches a buffer to the position after which its bytes may be reused.
struct Lifetime {
  int32_t buffer;
  int32_t birth;
  int32_t death;
};

/// The lives of every transient buffer of a body, one for each time that it begins anew. Also the
/// lives of every copy (Buffer::copy_of), which lives from the start of the body and, where it is
/// filled anew, once more from there to the end. What a loop leaves for its next round ends as it
/// does after the ops in front of the loop that are the same.
std::vector<Lifetime> find_lifetimes(const Plan& plan, const Body& body);

}  // namespace zero::plan
