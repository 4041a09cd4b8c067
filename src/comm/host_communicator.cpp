#include "src/comm/host_communicator.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "zero/base/error.hpp"

namespace zero::comm {
namespace {

// Without padding, memcmp compares values only.
static_assert(std::has_unique_object_representations_v<Call>);

bool same(const Call& a, const Call& b) { return std::memcmp(&a, &b, sizeof(Call)) == 0; }

std::string piece_text(const Call& call) {
  return text("elements [", call.begin, ", ", call.begin + call.numel, ") of shards of ",
              call.shard_numel);
}

bool adds(const Call& call) { return call.store == Communicator::Store::add; }

/// Runs one pass of the tree.
template <class T, class Out>
void sum_as(std::span<const std::byte* const> sources, int64_t numel, Out* out, bool add) {
  std::array<const T*, kernels::kMaxTreeSources> typed;
  ZERO_REQUIRE(sources.size() <= typed.size(), "one pass over ", sources.size(), " sources");
  for (size_t i = 0; i < sources.size(); ++i) typed[i] = reinterpret_cast<const T*>(sources[i]);
  kernels::tree_sum<T, Out>(std::span(typed.data(), sources.size()), numel, out, add);
}

template <class T>
void sum_from(const Call& call, std::span<const std::byte* const> sources, int64_t numel,
              std::byte* out) {
  if (call.out == Dtype::f32) {
    sum_as<T>(sources, numel, reinterpret_cast<float*>(out), adds(call));
  } else {
    sum_as<T>(sources, numel, reinterpret_cast<T*>(out), adds(call));
  }
}

void sum_in_one_pass(const Call& call, std::span<const std::byte* const> sources, int64_t numel,
                     std::byte* out) {
  if (call.in == Dtype::bf16) {
    sum_from<bf16>(call, sources, numel, out);
  } else if (call.in == Dtype::f16) {
    sum_from<f16>(call, sources, numel, out);
  } else {
    sum_as<float>(sources, numel, reinterpret_cast<float*>(out), adds(call));
  }
}

}  // namespace

std::string to_text(const Call& call) {
  switch (call.verb) {
    case Verb::all_gather:
      return text("all_gather of ", name_of(call.in), ", ", piece_text(call));
    case Verb::reduce_scatter:
      return text("reduce_scatter of ", name_of(call.in), " into ", name_of(call.out),
                  call.store == Communicator::Store::add ? " (added), " : ", ", piece_text(call));
    case Verb::all_reduce:
      return text("all_reduce of ", call.numel, " words");
    case Verb::broadcast:
      return text("broadcast of ", call.numel, " bytes from rank ", call.root);
    case Verb::barrier:
      return "barrier";
  }
  return text("verb ", int(call.verb));
}

void require_same(std::span<const Call> calls) {
  for (size_t r = 1; r < calls.size(); ++r) {
    if (same(calls[0], calls[r])) continue;
    refuse(Exit::kRanksDisagree, "ranks disagree: rank 0 calls ", to_text(calls[0]), " while rank ",
           r, " calls ", to_text(calls[r]),
           " - run one binary with one configuration on all ranks");
  }
}

void require_ranks(int64_t ranks) {
  if (ranks >= 1 && ranks <= kMostRanks) return;
  refuse(Exit::kUsage, ranks, " ranks: communicators take 1 to ", kMostRanks,
         " - start fewer ranks with more threads each");
}

HostCommunicator::HostCommunicator(int rank, int ranks, int group)
    : rank_(rank), ranks_(ranks), group_(group) {
  require_ranks(ranks);
  ZERO_REQUIRE(rank >= 0 && rank < ranks, "rank ", rank, " of ", ranks, " ranks");
  ZERO_REQUIRE(
      group > 1 && group <= kernels::kMaxTreeSources && std::has_single_bit(unsigned(group)),
      "sums by groups of ", group, " ranks: a power of two from 2 to ", kernels::kMaxTreeSources);
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

void HostCommunicator::count_sent(const Call& call, int64_t elements, int64_t away) {
  Traffic& traffic = traffic_of(call.verb);
  traffic.elements_sent += elements;
  traffic.bytes_sent += elements * call.in_bytes();
  traffic.node_bytes_sent += away * call.in_bytes();
}

void HostCommunicator::all_gather(Stream& stream, Dtype dtype, const Piece& piece,
                                  const void* shard, void* full) {
  require_piece(piece);
  const Call call = gather_call(dtype, piece);
  stream.wait();
  gather(call, static_cast<const std::byte*>(shard), static_cast<std::byte*>(full));
  ++traffic_.all_gather.calls;
}

void HostCommunicator::reduce_scatter(Stream& stream, const Reduction& reduction,
                                      const Piece& piece, const void* full, void* shard) {
  require_piece(piece);
  require_reduction(reduction);
  const Call call = reduce_call(reduction, piece);
  ZERO_REQUIRE(groups() == 1 || reduction.group_sums != nullptr, "reduce_scatter over ", ranks_,
               " ranks without room for the sums of their groups");
  stream.wait();
  reduce(call, static_cast<const std::byte*>(full), static_cast<std::byte*>(shard),
         reduction.group_sums);
  ++traffic_.reduce_scatter.calls;
}

void HostCommunicator::all_reduce(Stream& stream, std::span<int64_t> words) {
  require_words(words);
  const Call call = words_call(words);
  stream.wait();
  sum_words(call, words.data());
  ++traffic_.all_reduce.calls;
}

void HostCommunicator::broadcast(Stream& stream, std::span<std::byte> bytes, int root) {
  require_broadcast(bytes, root, ranks_);
  const Call call = broadcast_call(bytes, root);
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

void require_words(std::span<const int64_t> words) {
  ZERO_REQUIRE(!words.empty(), "all_reduce of 0 words: need at least one");
}

void require_broadcast(std::span<const std::byte> bytes, int root, int ranks) {
  ZERO_REQUIRE(!bytes.empty(), "broadcast of 0 bytes: need at least one");
  ZERO_REQUIRE(root >= 0 && root < ranks, "broadcast from rank ", root, " of ", ranks);
}

Call gather_call(Dtype dtype, const Piece& piece) {
  return {.verb = Verb::all_gather,
          .in = dtype,
          .out = dtype,
          .shard_numel = piece.shard_numel,
          .begin = piece.begin,
          .numel = piece.numel};
}

Call reduce_call(const Communicator::Reduction& reduction, const Piece& piece) {
  return {.verb = Verb::reduce_scatter,
          .in = reduction.in,
          .out = reduction.out,
          .store = reduction.store,
          .shard_numel = piece.shard_numel,
          .begin = piece.begin,
          .numel = piece.numel};
}

Call words_call(std::span<const int64_t> words) {
  return {.verb = Verb::all_reduce,
          .in = Dtype::i64,
          .out = Dtype::i64,
          .numel = int64_t(words.size())};
}

Call broadcast_call(std::span<const std::byte> bytes, int root) {
  return {.verb = Verb::broadcast, .root = root, .numel = int64_t(bytes.size())};
}

int64_t part_numel(int64_t staging_bytes, int64_t element_bytes) {
  const int64_t most = staging_bytes / element_bytes;
  return most < kPartElements ? most : most / kPartElements * kPartElements;
}

void place_own_piece(const Call& call, int rank, const std::byte* shard, std::byte* full) {
  const std::byte* from = shard + call.begin * call.in_bytes();
  std::byte* to = full + call.offset_in_full(rank, 0);
  if (from != to) std::memcpy(to, from, size_t(call.numel * call.in_bytes()));
}

void sum_sources(const Call& call, std::span<const std::byte* const> sources, int64_t numel,
                 std::byte* out, float* sums) {
  constexpr size_t kGroup = kernels::kMaxTreeSources;
  if (sources.size() <= kGroup) return sum_in_one_pass(call, sources, numel, out);
  const int groups = kernels::groups_of(int(sources.size()));
  for (int g = 0; g < groups; ++g) {
    const size_t first = size_t(g) * kGroup;
    sum_group(call, sources.subspan(first, std::min(kGroup, sources.size() - first)), numel,
              sums + g * numel);
  }
  finish_groups(call, sums, groups, numel, out);
}

void sum_group(const Call& call, std::span<const std::byte* const> sources, int64_t numel,
               float* sum) {
  Call whole = call;
  whole.out = Dtype::f32;
  whole.store = Communicator::Store::write;
  sum_in_one_pass(whole, sources, numel, reinterpret_cast<std::byte*>(sum));
}

void finish_groups(const Call& call, float* sums, int groups, int64_t numel, std::byte* out) {
  if (call.out == Dtype::bf16) {
    kernels::sum_groups(sums, groups, numel, reinterpret_cast<bf16*>(out), adds(call));
  } else if (call.out == Dtype::f16) {
    kernels::sum_groups(sums, groups, numel, reinterpret_cast<f16*>(out), adds(call));
  } else {
    kernels::sum_groups(sums, groups, numel, reinterpret_cast<float*>(out), adds(call));
  }
}

void count_call(Traffic& verb, int64_t elements, int64_t bytes, int64_t node_bytes) {
  ++verb.calls;
  verb.elements_sent += elements;
  verb.bytes_sent += elements * bytes;
  verb.node_bytes_sent += node_bytes;
}

void add_words(int64_t* words, const int64_t* other, int64_t numel) {
  for (int64_t i = 0; i < numel; ++i) words[i] = int64_t(uint64_t(words[i]) + uint64_t(other[i]));
}

}  // namespace zero::comm
