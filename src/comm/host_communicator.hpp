#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "zero/comm/communicator.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {

enum class Verb : uint8_t { all_gather, reduce_scatter, all_reduce, broadcast, barrier };

/// The arguments of a verb as plain bytes that ranks can compare. `numel` counts elements of `in`
/// (bytes for a broadcast).
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
  /// Returns the offset in bytes of element `first` of the piece, within the shard of `rank` of a
  /// full array of `in`.
  int64_t offset_in_full(int rank, int64_t first) const {
    return (rank * shard_numel + begin + first) * in_bytes();
  }
};

/// Returns "reduce_scatter of bf16 into fp32, elements [0, 64) of shards of 100".
std::string to_text(const Call& call);

/// Throws Error(kRanksDisagree), with one text on every rank, unless all calls are equal. Names
/// rank 0 and the first rank that differs. calls[r] is the call of rank r.
void require_same(std::span<const Call> calls);

/// The common part of the host back ends. A verb waits for its stream, checks its arguments, counts
/// itself, and is done when it returns. The derived class moves the bytes.
class HostCommunicator : public Communicator {
 public:
  /// `group`: ranks whose parts are added in one pass, a power of two from 2 to 64.
  HostCommunicator(int rank, int ranks, int group = kernels::kMaxTreeSources);

  int rank() const final { return rank_; }
  int ranks() const final { return ranks_; }
  void all_gather(Stream& stream, Dtype dtype, const Piece& piece, const void* shard,
                  void* full) final;
  void reduce_scatter(Stream& stream, const Reduction& reduction, const Piece& piece,
                      const void* full, void* shard) final;
  void all_reduce(Stream& stream, std::span<int64_t> words) final;
  void broadcast(Stream& stream, std::span<std::byte> bytes, int root) final;
  void barrier() final;

 protected:
  /// Counts elements of call.in that leave this rank, once for every peer that receives them, and
  /// among these the `away` that leave its node.
  void count_sent(const Call& call, int64_t elements, int64_t away = 0);

  int group() const { return group_; }
  int groups() const { return kernels::groups_of(ranks_, group_); }

 private:
  virtual void gather(const Call& call, const std::byte* shard, std::byte* full) = 0;
  /// `sums`: Reduction::group_sums.
  virtual void reduce(const Call& call, const std::byte* full, std::byte* shard, float* sums) = 0;
  virtual void sum_words(const Call& call, int64_t* words) = 0;
  virtual void copy_from_root(const Call& call, std::byte* bytes) = 0;
  virtual void meet(const Call& call) = 0;

  Traffic& traffic_of(Verb verb);

  int rank_;
  int ranks_;
  int group_;
};

/// Throws Error(kInternal) unless the piece has an element and lies inside its shard.
void require_piece(const Piece& piece);

/// Throws Error(kInternal) unless the dtypes can be summed, stored and added to.
void require_reduction(const Communicator::Reduction& reduction);

/// Throws Error(kInternal) unless there are words to sum, or bytes and a root to broadcast.
void require_words(std::span<const int64_t> words);
void require_broadcast(std::span<const std::byte> bytes, int root, int ranks);

/// Returns the call of a verb with these arguments.
Call gather_call(Dtype dtype, const Piece& piece);
Call reduce_call(const Communicator::Reduction& reduction, const Piece& piece);
Call words_call(std::span<const int64_t> words);
Call broadcast_call(std::span<const std::byte> bytes, int root);

/// Elements, at least 128 bytes. Parts of a piece begin at multiples of this for any number of
/// ranks, so copies and sums move 16 bytes at a time.
inline constexpr int64_t kPartElements = 64;

/// Returns the elements of a piece that travel at once. Each takes `element_bytes` of the staging.
/// A multiple of kPartElements, unless the staging is too small.
int64_t part_numel(int64_t staging_bytes, int64_t element_bytes);

/// Copies this rank's piece from its shard to its place in `full`, unless it is there already.
void place_own_piece(const Call& call, int rank, const std::byte* shard, std::byte* full);

/// Sums `sources` (one per rank, of call.in) along the balanced tree into `out` (of call.out).
/// `sums` is Reduction::group_sums.
void sum_sources(const Call& call, std::span<const std::byte* const> sources, int64_t numel,
                 std::byte* out, float* sums);

/// Computes sum_sources() in two parts, for a back end that holds one group of sources at a time.
/// sum_group() writes a group's sum to `sum`. finish_groups() sums all groups, [groups, numel],
/// into `out`.
void sum_group(const Call& call, std::span<const std::byte* const> sources, int64_t numel,
               float* sum);
void finish_groups(const Call& call, float* sums, int groups, int64_t numel, std::byte* out);

/// Counts a call that has sent `elements` of `bytes` each, and `node_bytes` to other nodes.
void count_call(Traffic& verb, int64_t elements, int64_t bytes, int64_t node_bytes);

/// Adds: words[i] += other[i], modulo 2^64.
void add_words(int64_t* words, const int64_t* other, int64_t numel);

}  // namespace zero::comm
