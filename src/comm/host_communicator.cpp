#include "src/comm/host_communicator.hpp"

#include <array>
#include <cstring>

#include "zero/base/error.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {
namespace {

void require_reduction(const Communicator::Reduction& reduction) {
  const Dtype in = reduction.in;
  ZERO_REQUIRE(in == Dtype::f32 || in == Dtype::bf16 || in == Dtype::f16, "reduce_scatter of ",
               name_of(in), ": sums take fp32, bf16 or fp16");
  ZERO_REQUIRE(reduction.out == Dtype::f32 || reduction.out == in, "reduce_scatter of ",
               name_of(in), " into ", name_of(reduction.out), ": sums are stored as fp32 or as ",
               name_of(in));
  ZERO_REQUIRE(reduction.store == Communicator::Store::write || reduction.out == Dtype::f32,
               "reduce_scatter adds to ", name_of(reduction.out), ": only fp32 can be added to");
}

template <class T, class Out>
void sum_as(const Call& call, std::span<const std::byte* const> sources, int64_t numel,
            std::byte* out) {
  std::array<const T*, kernels::kMaxTreeSources> typed;
  for (size_t i = 0; i < sources.size(); ++i) typed[i] = reinterpret_cast<const T*>(sources[i]);
  kernels::tree_sum<T, Out>(std::span(typed.data(), sources.size()), numel,
                            reinterpret_cast<Out*>(out), call.store == Communicator::Store::add);
}

template <class T>
void sum_from(const Call& call, std::span<const std::byte* const> sources, int64_t numel,
              std::byte* out) {
  if (call.out == Dtype::f32) {
    sum_as<T, float>(call, sources, numel, out);
  } else {
    sum_as<T, T>(call, sources, numel, out);
  }
}

}  // namespace

int max_host_ranks() { return kernels::kMaxTreeSources; }

void require_host_ranks(int ranks) {
  if (ranks >= 1 && ranks <= max_host_ranks()) return;
  refuse(Exit::kUsage, ranks, " ranks: the host's communicators take 1 to ", max_host_ranks(),
         " - start fewer ranks with more threads each");
}

HostCommunicator::HostCommunicator(int rank, int ranks) : rank_(rank), ranks_(ranks) {
  require_host_ranks(ranks);
  ZERO_REQUIRE(rank >= 0 && rank < ranks, "rank ", rank, " of ", ranks, " ranks");
}

Traffic& HostCommunicator::traffic_of(Verb verb) {
  switch (verb) {
    case Verb::all_gather:
      return traffic_.all_gather;
    case Verb::reduce_scatter:
      return traffic_.reduce_scatter;
    case Verb::all_reduce:
      return traffic_.all_reduce;
    default:
      return traffic_.broadcast;
  }
}

void HostCommunicator::count_sent(const Call& call, int64_t elements) {
  Traffic& traffic = traffic_of(call.verb);
  traffic.elements_sent += elements;
  traffic.bytes_sent += elements * call.in_bytes();
}

void HostCommunicator::all_gather(Stream& stream, Dtype dtype, const Piece& piece,
                                  const void* shard, void* full) {
  require_piece(piece);
  const Call call{.verb = Verb::all_gather,
                  .in = dtype,
                  .out = dtype,
                  .shard_numel = piece.shard_numel,
                  .begin = piece.begin,
                  .numel = piece.numel};
  stream.wait();
  gather(call, static_cast<const std::byte*>(shard), static_cast<std::byte*>(full));
  ++traffic_.all_gather.calls;
}

void HostCommunicator::reduce_scatter(Stream& stream, const Reduction& reduction,
                                      const Piece& piece, const void* full, void* shard) {
  require_piece(piece);
  require_reduction(reduction);
  const Call call{.verb = Verb::reduce_scatter,
                  .in = reduction.in,
                  .out = reduction.out,
                  .store = reduction.store,
                  .shard_numel = piece.shard_numel,
                  .begin = piece.begin,
                  .numel = piece.numel};
  stream.wait();
  reduce(call, static_cast<const std::byte*>(full), static_cast<std::byte*>(shard));
  ++traffic_.reduce_scatter.calls;
}

void HostCommunicator::all_reduce(Stream& stream, std::span<int64_t> words) {
  ZERO_REQUIRE(!words.empty(), "all_reduce of 0 words: need at least one");
  const Call call{.verb = Verb::all_reduce,
                  .in = Dtype::i64,
                  .out = Dtype::i64,
                  .numel = int64_t(words.size())};
  stream.wait();
  sum_words(call, words.data());
  ++traffic_.all_reduce.calls;
}

void HostCommunicator::broadcast(Stream& stream, std::span<std::byte> bytes, int root) {
  ZERO_REQUIRE(!bytes.empty(), "broadcast of 0 bytes: need at least one");
  ZERO_REQUIRE(root >= 0 && root < ranks_, "broadcast from rank ", root, " of ", ranks_);
  const Call call{.verb = Verb::broadcast, .root = root, .numel = int64_t(bytes.size())};
  stream.wait();
  copy_from_root(call, bytes.data());
  ++traffic_.broadcast.calls;
}

void HostCommunicator::barrier() { meet(Call{.verb = Verb::barrier}); }

void require_piece(const Piece& piece) {
  ZERO_REQUIRE(
      piece.numel >= 1 && piece.begin >= 0 && piece.numel <= piece.shard_numel - piece.begin,
      "piece [", piece.begin, ", ", piece.begin + piece.numel, ") of a shard of ",
      piece.shard_numel, " elements: need at least one element, all inside the shard");
}

void place_own_piece(const Call& call, int rank, const std::byte* shard, std::byte* full) {
  const std::byte* from = shard + call.begin * call.in_bytes();
  std::byte* to = full + call.offset_in_full(rank, 0);
  if (from != to) std::memcpy(to, from, size_t(call.numel * call.in_bytes()));
}

void sum_sources(const Call& call, std::span<const std::byte* const> sources, int64_t numel,
                 std::byte* out) {
  if (call.in == Dtype::bf16) {
    sum_from<bf16>(call, sources, numel, out);
  } else if (call.in == Dtype::f16) {
    sum_from<f16>(call, sources, numel, out);
  } else {
    sum_as<float, float>(call, sources, numel, out);
  }
}

void add_words(int64_t* words, const int64_t* other, int64_t numel) {
  for (int64_t i = 0; i < numel; ++i) words[i] = int64_t(uint64_t(words[i]) + uint64_t(other[i]));
}

}  // namespace zero::comm
