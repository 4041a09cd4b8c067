#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "zero/comm/communicator.hpp"

namespace zero::comm {

enum class Verb : uint8_t { all_gather, reduce_scatter, all_reduce, broadcast, barrier };

/// What one rank says it is about to do: plain bytes, so that ranks can show them to each other.
/// `numel` counts elements of `in` (bytes for a broadcast).
struct Call {
  Verb verb;
  Dtype in = Dtype::u8;
  Dtype out = Dtype::u8;
  Communicator::Store store = Communicator::Store::write;
  int32_t root = 0;
  int64_t shard_numel = 0;
  int64_t begin = 0;
  int64_t numel = 0;

  int64_t in_bytes() const { return int64_t(bytes_of(in)); }
  int64_t out_bytes() const { return int64_t(bytes_of(out)); }
  /// Offset in bytes of element `first` of the piece, in the shard of `rank` of a full array of
  /// `in`.
  int64_t offset_in_full(int rank, int64_t first) const {
    return (rank * shard_numel + begin + first) * in_bytes();
  }
};

/// "reduce_scatter of bf16 into fp32, elements [0, 64) of shards of 100"
std::string to_text(const Call& call);

/// calls[r] is what rank r says. Throws Error(kRanksDisagree), the same on every rank, naming rank
/// 0 and the first rank that says something else.
void require_same(std::span<const Call> calls);

}  // namespace zero::comm
