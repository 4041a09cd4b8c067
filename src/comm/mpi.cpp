#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <ranges>
#include <vector>

#include "src/comm/host_communicator.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/comm/backends.hpp"
#include "zero/comm/mpi_world.hpp"

namespace zero::comm {
namespace {

// MPI counts are int. The limit also keeps messages well below the tested sizes of transports.
constexpr int64_t kMostMessageBytes = int64_t(1) << 30;
constexpr int64_t kCacheLine = 64;

constexpr const char* kNames[] = {"all_gather", "reduce_scatter", "all_reduce", "broadcast",
                                  "barrier"};

const char* name_of_verb(const Call& call) { return kNames[size_t(call.verb)]; }

MPI_Datatype type_of(Dtype dtype) {
  const MPI_Datatype kTypes[] = {MPI_FLOAT,   MPI_UINT16_T, MPI_UINT16_T, MPI_DOUBLE,
                                 MPI_INT64_T, MPI_INT32_T,  MPI_INT16_T,  MPI_UINT8_T};
  return kTypes[size_t(dtype)];
}

// MPI makes progress only while a rank asks, so a waiting rank asks often at first. It yields its
// core each time, and sleeps between questions after about a millisecond.
void back_off(int tries) {
  constexpr int kYields = 2000;
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 100'000};
  if (tries < kYields) {
    sched_yield();
  } else {
    nanosleep(&kNap, nullptr);
  }
}

/// Returns the number of peers' parts of a chunk that are staged at a time: two groups, because two
/// rounds are in flight.
int64_t parts_of(int ranks, int group) { return 2 * std::clamp(ranks - 1, 1, group); }

/// The sends and receives of one chunk.
class Exchange {
 public:
  explicit Exchange(int ranks)
      : requests_(size_t(2 * ranks), MPI_REQUEST_NULL), statuses_(requests_.size()) {}

  MPI_Request* add() { return &requests_[size_t(posted_++)]; }

  /// Blocks until all are done. Throws Error(kInternal) naming `verb` if any has failed.
  void finish(const char* verb) {
    for (int tries = 0;; ++tries) {
      int done = 0;
      const int status = MPI_Testall(posted_, requests_.data(), &done, statuses_.data());
      check_mpi(status == MPI_ERR_IN_STATUS ? first_error() : status, verb);
      if (done) break;
      back_off(tries);
    }
    posted_ = 0;
  }

 private:
  int first_error() const {
    for (int i = 0; i < posted_; ++i) {
      const int error = statuses_[size_t(i)].MPI_ERROR;
      if (error != MPI_SUCCESS && error != MPI_ERR_PENDING) return error;
    }
    return MPI_ERR_IN_STATUS;
  }

  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  int posted_ = 0;
};

class MpiCommunicator final : public HostCommunicator {
 public:
  MpiCommunicator(std::unique_ptr<World> world, const MpiOptions& options, int64_t part_bytes)
      : HostCommunicator(world->rank(), world->ranks(), options.group),
        world_(std::move(world)),
        places_(world_->places()),
        agreed_(options.agreed),
        comm_(MPI_Comm_f2c(world_->handle())),
        part_bytes_(part_bytes),
        staging_(size_t(parts_of(ranks(), options.group) * part_bytes)),
        exchange_{Exchange(ranks()), Exchange(ranks())},
        calls_(size_t(ranks())),
        sources_(size_t(ranks())) {
    check_mpi(MPI_Query_thread(&threads_), "asking for the thread level");
  }

  std::string_view backend() const override { return "mpi"; }
  Border border() const override { return {.node_ranks = places_.node_ranks()}; }

 private:
  struct Chunk {
    int64_t number;  ///< index of the round in the call
    int64_t begin;   ///< first element in the piece
    int64_t numel;
    int round;  ///< index among the chunk's rounds
  };

  void gather(const Call& call, const std::byte* shard, std::byte* full) override {
    agree(call);
    place_own_piece(call, rank(), shard, full);
    const auto post = [&](const Chunk& chunk) {
      const std::byte* mine = full + call.offset_in_full(rank(), chunk.begin);
      for (int peer = 0; peer < ranks(); ++peer) {
        if (peer == rank()) continue;
        receive(call, chunk, peer, full + call.offset_in_full(peer, chunk.begin));
        send(call, chunk, peer, mine);
      }
    };
    stream(call, {kMostMessageBytes / call.in_bytes()}, post, [](const Chunk&) {});
  }

  // A chunk takes a round for each group of ranks. In round k this rank receives from the k-th
  // group after its own. It sends to all ranks whose k-th group after their own is its group.
  void reduce(const Call& call, const std::byte* full, std::byte* shard, float* sums) override {
    agree(call);
    const int own = rank() / group();
    const auto post = [&](const Chunk& chunk) {
      for (int peer : group_at(own + chunk.round)) {
        if (peer != rank()) receive(call, chunk, peer, part(chunk, peer));
      }
      for (int peer : group_at(own - chunk.round)) {
        if (peer == rank()) continue;
        send(call, chunk, peer, full + call.offset_in_full(peer, chunk.begin));
      }
    };
    stream(call, {part_bytes_ / call.in_bytes(), groups()}, post, [&](const Chunk& chunk) {
      const auto members = group_at(own + chunk.round);
      for (int peer : members) {
        sources_[size_t(peer)] =
            peer == rank() ? full + call.offset_in_full(peer, chunk.begin) : part(chunk, peer);
      }
      const auto sources = std::span<const std::byte* const>(sources_).subspan(
          size_t(members.front()), members.size());
      std::byte* const out = shard + (call.begin + chunk.begin) * call.out_bytes();
      if (groups() == 1) return sum_sources(call, sources, chunk.numel, out, sums);
      sum_group(call, sources, chunk.numel, sums + members.front() / group() * chunk.numel);
      if (chunk.round == groups() - 1) finish_groups(call, sums, groups(), chunk.numel, out);
    });
  }

  void sum_words(const Call& call, int64_t* words) override {
    agree(call);
    const auto post = [&](const Chunk& chunk) {
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, words + chunk.begin, int(chunk.numel), MPI_INT64_T,
                               MPI_SUM, comm_, exchange(chunk).add()),
                name_of_verb(call));
      count_sent(call, chunk.numel * (ranks() - 1), chunk.numel * places_.away);
    };
    stream(call, {kMostMessageBytes / call.in_bytes()}, post, [](const Chunk&) {});
  }

  void copy_from_root(const Call& call, std::byte* bytes) override {
    agree(call);
    const auto post = [&](const Chunk& chunk) {
      check_mpi(MPI_Ibcast(bytes + chunk.begin, int(chunk.numel), MPI_BYTE, call.root, comm_,
                           exchange(chunk).add()),
                name_of_verb(call));
      if (rank() != call.root) return;
      count_sent(call, chunk.numel * (ranks() - 1), chunk.numel * places_.away);
    };
    stream(call, {kMostMessageBytes}, post, [](const Chunk&) {});
  }

  // Returns when all ranks have said "barrier".
  void meet(const Call& call) override {
    require_this_thread_may_call();
    compare(call);
  }

  void agree(const Call& call) {
    require_this_thread_may_call();
    if (!agreed_) compare(call);
  }

  /// Tells all ranks this rank's call and compares it with theirs. 32 bytes each, not counted as
  /// traffic.
  void compare(const Call& call) {
    check_mpi(MPI_Iallgather(&call, sizeof(Call), MPI_BYTE, calls_.data(), sizeof(Call), MPI_BYTE,
                             comm_, exchange_[0].add()),
              name_of_verb(call));
    exchange_[0].finish(name_of_verb(call));
    require_same(calls_);
  }

  /// The cut of a call into chunks of at most `most` elements, and of each chunk into rounds.
  struct Cut {
    int64_t most;
    int rounds = 1;
  };

  /// Posts the messages of each round, then lets read() sum the round before while they travel.
  template <class Post, class Read>
  void stream(const Call& call, const Cut& cut, Post post, Read read) {
    const int64_t rounds = ceil_div(call.numel, cut.most) * cut.rounds;
    const auto chunk_at = [&](int64_t i) {
      const int64_t begin = i / cut.rounds * cut.most;
      return Chunk{i, begin, std::min(cut.most, call.numel - begin), int(i % cut.rounds)};
    };
    for (int64_t i = 0; i <= rounds; ++i) {
      if (i < rounds) post(chunk_at(i));
      if (i == 0) continue;
      exchange(chunk_at(i - 1)).finish(name_of_verb(call));
      read(chunk_at(i - 1));
    }
  }

  void send(const Call& call, const Chunk& chunk, int peer, const std::byte* from) {
    check_mpi(
        MPI_Isend(from, int(chunk.numel), type_of(call.in), peer, 0, comm_, exchange(chunk).add()),
        name_of_verb(call));
    count_sent(call, chunk.numel, places_.is_away(rank(), peer) ? chunk.numel : 0);
  }

  void receive(const Call& call, const Chunk& chunk, int peer, std::byte* to) {
    check_mpi(
        MPI_Irecv(to, int(chunk.numel), type_of(call.in), peer, 0, comm_, exchange(chunk).add()),
        name_of_verb(call));
  }

  void require_this_thread_may_call() const {
    if (threads_ >= MPI_THREAD_MULTIPLE) return;
    int main = 0;
    check_mpi(MPI_Is_thread_main(&main), "asking for the main thread");
    ZERO_REQUIRE(main, "a lane's thread calls MPI, which was started at thread level ", threads_,
                 ": start it with MPI_THREAD_MULTIPLE");
  }

  /// Returns the ranks of a group. `index` wraps around in either direction.
  std::ranges::iota_view<int, int> group_at(int index) const {
    const int first = (index + groups()) % groups() * group();
    return {first, std::min(first + group(), ranks())};
  }
  Exchange& exchange(const Chunk& chunk) { return exchange_[size_t(chunk.number % 2)]; }
  std::byte* part(const Chunk& chunk, int peer) {
    const bool own_group = peer / group() == rank() / group();
    const int64_t place = peer % group() - (own_group && peer > rank());
    const int64_t half = parts_of(ranks(), group()) / 2;
    return staging_.data() + (chunk.number % 2 * half + place) * part_bytes_;
  }

  std::unique_ptr<World> world_;
  World::Places places_;
  bool agreed_;
  MPI_Comm comm_;
  int64_t part_bytes_;
  std::vector<std::byte> staging_;
  std::array<Exchange, 2> exchange_;
  std::vector<Call> calls_;
  std::vector<const std::byte*> sources_;
  int threads_ = MPI_THREAD_SINGLE;
};

/// Returns the bytes for one peer's part of a chunk.
int64_t part_bytes_of(int64_t staging_bytes, int ranks, int group) {
  const int64_t parts = parts_of(ranks, group);
  const int64_t bytes =
      std::min(staging_bytes / parts, kMostMessageBytes) / kCacheLine * kCacheLine;
  if (bytes < kCacheLine) {
    refuse(Exit::kUsage, "staging of ", staging_bytes, " bytes for ", ranks,
           " ranks: need at least ", parts * kCacheLine);
  }
  return bytes;
}

}  // namespace

std::unique_ptr<Communicator> make_mpi(const MpiOptions& options) {
  auto world = std::make_unique<World>(options.part);
  require_ranks(world->ranks());
  world->require_same(options.staging_bytes, "the staging in bytes");
  const int64_t part_bytes = part_bytes_of(options.staging_bytes, world->ranks(), options.group);
  return std::make_unique<MpiCommunicator>(std::move(world), options, part_bytes);
}

}  // namespace zero::comm
