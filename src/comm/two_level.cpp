#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "src/comm/host_communicator.hpp"
#include "src/comm/side_thread.hpp"
#include "zero/base/align.hpp"
#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/comm/backends.hpp"

namespace zero::comm {
namespace {

constexpr int64_t kFloatBytes = 4;
/// Chunks of a gather are this part of the staging, so the first one soon reaches the node.
constexpr int64_t kGatherShare = 8;

/// Returns a digest by which ranks compare their calls.
int64_t word_of(const Call& call) {
  const Xxh3Digest digest = xxh3_of(std::as_bytes(std::span(&call, 1)));
  int64_t word = 0;
  std::memcpy(&word, digest.data(), sizeof word);
  return word;
}

/// Returns half of the staging, in whole cache lines.
int64_t half_of(int64_t staging_bytes) { return staging_bytes / 2 / 64 * 64; }

Piece whole(int64_t numel) { return {.shard_numel = numel, .begin = 0, .numel = numel}; }

/// A part of a piece, whose elements lie side by side in each shard.
struct Chunk {
  int64_t number;
  int64_t begin;  ///< first element in the shard
  int64_t numel;
};

/// The cut of a piece into chunks of at most `most` elements.
struct Chunks {
  Piece piece;
  int64_t most;

  int64_t count() const { return ceil_div(piece.numel, most); }
  Chunk at(int64_t i) const {
    return {i, piece.begin + i * most, std::min(most, piece.numel - i * most)};
  }
};

class TwoLevel final : public Communicator {
 public:
  TwoLevel(std::unique_ptr<Communicator> within, std::unique_ptr<Communicator> between,
           int64_t staging_bytes)
      : within_(std::move(within)),
        between_(std::move(between)),
        name_(text(between_->backend(), " between nodes, ", within_->backend(), " within")),
        staging_(size_t(staging_bytes)),
        beside_(1, Place::host) {}

  int rank() const override { return node() * places() + place(); }
  int ranks() const override { return nodes() * places(); }
  std::string_view backend() const override { return name_; }
  Border border() const override {
    return {.node_ranks = places(), .gathers_once = true, .sums_once = true};
  }

  void all_gather(Stream& stream, Dtype dtype, const Piece& piece, const void* shard,
                  void* full) override {
    require_piece(piece);
    const Call call = gather_call(dtype, piece);
    agree(stream, call);
    auto* const to = static_cast<std::byte*>(full);
    place_own_piece(call, rank(), static_cast<const std::byte*>(shard), to);
    const int64_t bytes = call.in_bytes();
    const Chunks chunks{piece, part_numel(int64_t(staging_.size()) / kGatherShare, bytes)};
    pass_inwards(
        chunks, [&](const Chunk& chunk) { gather_between(call, chunk, to); },
        [&](const Chunk& chunk) { gather_within(stream, call, chunk, to); });
    count_call(traffic_.all_gather, piece.numel * (ranks() - 1), bytes,
               piece.numel * (nodes() - 1) * bytes);
  }

  void reduce_scatter(Stream& stream, const Reduction& reduction, const Piece& piece,
                      const void* full, void* shard) override {
    require_piece(piece);
    require_reduction(reduction);
    const Call call = reduce_call(reduction, piece);
    agree(stream, call);
    // The staging holds two chunks, with a part for each node.
    const int64_t half = half_of(int64_t(staging_.size()));
    const Chunks chunks{piece, part_numel(half, nodes() * kFloatBytes)};
    pass_outwards(
        chunks,
        [&](const Chunk& chunk) {
          sum_within(stream, reduction, call, chunk, static_cast<const std::byte*>(full));
        },
        [&](const Chunk& chunk) {
          sum_between(reduction, call, chunk, static_cast<std::byte*>(shard));
        });
    count_call(traffic_.reduce_scatter, piece.numel * (ranks() - 1), call.in_bytes(),
               piece.numel * (nodes() - 1) * kFloatBytes);
  }

  // Only the first rank of each node sends its node's sum.
  void all_reduce(Stream& stream, std::span<int64_t> words) override {
    require_words(words);
    agree(stream, words_call(words));
    within_->all_reduce(stream, words);
    if (place() == 0) between_->all_reduce(stream, words);
    within_->broadcast(stream, std::as_writable_bytes(words), 0);
    const int64_t numel = int64_t(words.size()), bytes = int64_t(sizeof(int64_t));
    count_call(traffic_.all_reduce, numel * (ranks() - 1), bytes,
               place() == 0 ? numel * (nodes() - 1) * bytes : 0);
  }

  void broadcast(Stream& stream, std::span<std::byte> bytes, int root) override {
    require_broadcast(bytes, root, ranks());
    agree(stream, broadcast_call(bytes, root));
    if (place() == root % places()) between_->broadcast(stream, bytes, root / places());
    within_->broadcast(stream, bytes, root % places());
    const int64_t numel = rank() == root ? int64_t(bytes.size()) : 0;
    count_call(traffic_.broadcast, numel * (ranks() - 1), 1, numel * (nodes() - 1));
  }

  // No rank knows that all have come before it knows the sum of their words.
  void barrier() override { agree(beside_, Call{.verb = Verb::barrier}); }

  void require_sound() const override {
    within_->require_sound();
    between_->require_sound();
  }

 private:
  int node() const { return between_->rank(); }
  int nodes() const { return between_->ranks(); }
  int place() const { return within_->rank(); }
  int places() const { return within_->ranks(); }

  /// Waits for the stream, and throws Error(kRanksDisagree) on every rank unless all make the same
  /// call. The sum of the ranks' words tells every rank alike.
  void agree(Stream& stream, const Call& call) {
    const int64_t mine = word_of(call);
    int64_t sum = mine;
    within_->all_reduce(stream, {&sum, 1});
    between_->all_reduce(stream, {&sum, 1});
    if (uint64_t(sum) == uint64_t(mine) * uint64_t(ranks())) return;
    std::vector<Call> calls(size_t(ranks()), call);
    const int64_t bytes = sizeof(Call);
    Call* const here = calls.data() + node() * places();
    within_->all_gather(stream, Dtype::u8, whole(bytes), &here[place()], here);
    between_->all_gather(stream, Dtype::u8, whole(places() * bytes), here, calls.data());
    require_same(calls);
  }

  /// Receives the shards of this rank's place on other nodes.
  void gather_between(const Call& call, const Chunk& chunk, std::byte* full) {
    std::byte* const first = full + place() * call.shard_numel * call.in_bytes();
    const Piece piece{places() * call.shard_numel, chunk.begin, chunk.numel};
    between_->all_gather(beside_, call.in, piece,
                         first + node() * piece.shard_numel * call.in_bytes(), first);
  }

  /// Shares the shards of this rank's place, of all nodes, with the ranks of its node.
  void gather_within(Stream& stream, const Call& call, const Chunk& chunk, std::byte* full) {
    const Piece piece{call.shard_numel, chunk.begin, chunk.numel};
    for (int n = 0; n < nodes(); ++n) {
      std::byte* const shards = full + n * places() * call.shard_numel * call.in_bytes();
      within_->all_gather(stream, call.in, piece,
                          shards + place() * call.shard_numel * call.in_bytes(), shards);
    }
  }

  /// Sums over this node the shards of this rank's place on every node.
  void sum_within(Stream& stream, const Reduction& reduction, const Call& call, const Chunk& chunk,
                  const std::byte* full) {
    const Reduction sum{.in = reduction.in, .out = Dtype::f32, .group_sums = reduction.group_sums};
    for (int n = 0; n < nodes(); ++n) {
      const int64_t first = n * places() * call.shard_numel + chunk.begin;
      within_->reduce_scatter(stream, sum, {call.shard_numel, 0, chunk.numel},
                              full + first * call.in_bytes(), sums_of(chunk) + n * chunk.numel);
    }
  }

  // More ranks than one pass adds are either on a node or at a place, because 64 x 65 x 2 are more
  // than kMostRanks. So only one level uses the sums of groups. A sum of 16 bits is made in fp32,
  // in its node's place, and rounded from there.
  void sum_between(const Reduction& reduction, const Call& call, const Chunk& chunk,
                   std::byte* shard) {
    float* const sums = sums_of(chunk);
    float* const mine = sums + node() * chunk.numel;
    std::byte* const out = shard + chunk.begin * call.out_bytes();
    const bool rounds = reduction.out != Dtype::f32;
    Reduction rest = reduction;
    rest.in = rest.out = Dtype::f32;
    between_->reduce_scatter(beside_, rest, whole(chunk.numel), sums,
                             rounds ? static_cast<void*>(mine) : out);
    if (rounds) finish_groups(call, mine, 1, chunk.numel, out);
  }

  float* sums_of(const Chunk& chunk) {
    return reinterpret_cast<float*>(staging_.data() +
                                    chunk.number % 2 * half_of(int64_t(staging_.size())));
  }

  /// Calls between(chunk) and then within(chunk) for each chunk. The next chunk is already between
  /// nodes while one is within.
  template <class Between, class Within>
  void pass_inwards(const Chunks& chunks, const Between& between, const Within& within) {
    int64_t next = 0;
    const auto work = [&] { between(chunks.at(next)); };
    if (chunks.count() == 1) {
      work();
      return within(chunks.at(0));
    }
    const Rest rest(side_);
    side_.start(work);
    for (int64_t i = 0; i < chunks.count(); ++i) {
      side_.wait();
      next = i + 1;
      if (next < chunks.count()) side_.start(work);
      within(chunks.at(i));
    }
  }

  /// Calls within(chunk) and then between(chunk) for each chunk. The next chunk is already within
  /// nodes while one is between them.
  template <class Within, class Between>
  void pass_outwards(const Chunks& chunks, const Within& within, const Between& between) {
    int64_t ready = 0;
    const auto work = [&] { between(chunks.at(ready)); };
    const Rest rest(side_);
    for (int64_t i = 0; i < chunks.count(); ++i) {
      within(chunks.at(i));
      side_.wait();
      ready = i;
      if (chunks.count() == 1) return work();
      side_.start(work);
    }
    side_.wait();
  }

  /// A scope that leaves no work behind, also if it throws.
  struct Rest {
    explicit Rest(SideThread& thread) : side(thread) {}
    ~Rest() { side.rest(); }
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;
    SideThread& side;
  };

  std::unique_ptr<Communicator> within_, between_;
  std::string name_;
  std::vector<std::byte> staging_;
  Stream beside_;  ///< of the verbs of `between_`, whose arrays are ready
  SideThread side_;
};

}  // namespace

std::unique_ptr<Communicator> make_two_level(std::unique_ptr<Communicator> within,
                                             std::unique_ptr<Communicator> between,
                                             const TwoLevelOptions& options) {
  const int places = within->ranks(), nodes = between->ranks();
  require_ranks(int64_t(places) * nodes);
  ZERO_REQUIRE(std::has_single_bit(unsigned(places)), "two levels over nodes of ", places,
               " ranks: a power of two keeps the order of sums");
  const int64_t least = 2 * round_up<int64_t>(nodes * kFloatBytes, 64);
  if (options.staging_bytes < least) {
    refuse(Exit::kUsage, "staging of ", options.staging_bytes, " bytes for sums of ", nodes,
           " nodes: need at least ", least);
  }
  return std::make_unique<TwoLevel>(std::move(within), std::move(between), options.staging_bytes);
}

}  // namespace zero::comm
