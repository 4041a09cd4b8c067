#include <algorithm>
#include <cstring>
#include <vector>

#include "src/comm/host_communicator.hpp"
#include "src/comm/shm_segment.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/comm/backends.hpp"
#include "zero/comm/mpi_world.hpp"
#include "zero/device/copy.hpp"

namespace zero::comm {
namespace {

// A communicator that cuts a verb into chunks. For each chunk, every rank stages its part in its
// own segment, then reads its peers' parts. Staging runs one chunk ahead of reading. `depth` chunks
// may be in flight, so ranks that run a little apart do not wait for each other.
class ShmCommunicator final : public HostCommunicator {
 public:
  ShmCommunicator(const World& world, const ShmOptions& options, const SlotLayout& layout,
                  std::vector<Segment> segments)
      : HostCommunicator(world.rank(), world.ranks()),
        waiting_{.hook = options.hook, .context = options.hook_context},
        layout_(layout),
        segments_(std::move(segments)),
        calls_(segments_.size()),
        sources_(segments_.size()) {}

  std::string_view backend() const override { return "shm"; }

 private:
  void gather(const Call& call, const std::byte* shard, std::byte* full) override {
    place_own_piece(call, rank(), shard, full);
    const int64_t most = layout_.slot_bytes / call.in_bytes();
    const std::byte* mine = full + call.offset_in_full(rank(), 0);
    const auto write = [&](Chunk chunk, std::byte* slot) {
      stage_copy(slot, mine + chunk.begin * call.in_bytes(), chunk.numel * call.in_bytes());
      count_sent(call, chunk.numel * (ranks() - 1));
    };
    stream(call, most, write, [&](Chunk chunk) {
      for (int peer = 0; peer < ranks(); ++peer) {
        if (peer == rank()) continue;
        copy(full + call.offset_in_full(peer, chunk.begin), payload(peer, chunk),
             chunk.numel * call.in_bytes());
      }
    });
  }

  // A slot holds a part for every peer. This rank reads its own part in place.
  void reduce(const Call& call, const std::byte* full, std::byte* shard, float* sums) override {
    const int64_t part_bytes = layout_.slot_bytes / std::max(1, ranks() - 1) / 64 * 64;
    const auto write = [&](Chunk chunk, std::byte* slot) {
      for (int peer = 0; peer < ranks(); ++peer) {
        if (peer == rank()) continue;
        stage_copy(slot + part_of(peer, rank()) * part_bytes,
                   full + call.offset_in_full(peer, chunk.begin), chunk.numel * call.in_bytes());
        count_sent(call, chunk.numel);
      }
    };
    stream(call, part_bytes / call.in_bytes(), write, [&](Chunk chunk) {
      for (int peer = 0; peer < ranks(); ++peer) {
        sources_[size_t(peer)] = payload(peer, chunk) + part_of(rank(), peer) * part_bytes;
      }
      sources_[size_t(rank())] = full + call.offset_in_full(rank(), chunk.begin);
      sum_sources(call, sources_, chunk.numel,
                  shard + (call.begin + chunk.begin) * call.out_bytes(), sums);
    });
  }

  void sum_words(const Call& call, int64_t* words) override {
    const auto write = [&](Chunk chunk, std::byte* slot) {
      stage_copy(slot, words + chunk.begin, chunk.numel * call.in_bytes());
      count_sent(call, chunk.numel * (ranks() - 1));
    };
    stream(call, layout_.slot_bytes / call.in_bytes(), write, [&](Chunk chunk) {
      for (int peer = 0; peer < ranks(); ++peer) {
        if (peer == rank()) continue;
        add_words(words + chunk.begin, reinterpret_cast<const int64_t*>(payload(peer, chunk)),
                  chunk.numel);
      }
    });
  }

  void copy_from_root(const Call& call, std::byte* bytes) override {
    const auto write = [&](Chunk chunk, std::byte* slot) {
      if (rank() != call.root) return;
      stage_copy(slot, bytes + chunk.begin, chunk.numel);
      count_sent(call, chunk.numel * (ranks() - 1));
    };
    stream(call, layout_.slot_bytes, write, [&](Chunk chunk) {
      if (rank() != call.root) copy(bytes + chunk.begin, payload(call.root, chunk), chunk.numel);
    });
  }

  void meet(const Call& call) override {
    stream(
        call, 1, [](Chunk, std::byte*) {}, [](Chunk) {});
  }

  struct Chunk {
    uint32_t number;  ///< index in the life of the channel
    int64_t begin;    ///< first element in the piece
    int64_t numel;
  };

  /// Cuts the call into chunks of at most `most` elements. write(chunk, slot) writes this rank's
  /// part of each. read(chunk) runs when the parts of all peers are there.
  template <class Write, class Read>
  void stream(const Call& call, int64_t most, Write write, Read read) {
    const int64_t chunks = std::max(int64_t(1), ceil_div(call.numel, most));
    const uint32_t first = next_;
    const auto chunk_at = [&](int64_t i) {
      return Chunk{uint32_t(first + i), i * most, std::min(most, call.numel - i * most)};
    };
    int64_t staged = 0;
    for (int64_t i = 0; i < chunks; ++i) {
      while (staged < chunks && (staged == i || slot_is_free(chunk_at(staged)))) {
        publish(call, chunk_at(staged++), write);
      }
      consume(chunk_at(i), i == 0, read);
    }
    next_ = uint32_t(first + chunks);
  }

  /// Returns the count that peers must have drained before this rank may reuse the chunk's slot.
  uint32_t freed_by(const Chunk& chunk) const { return chunk.number + 1 - uint32_t(layout_.depth); }

  bool slot_is_free(const Chunk& chunk) const {
    return std::all_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
      return &segment == &mine() || has_reached(segment.drained(), freed_by(chunk));
    });
  }

  template <class Write>
  void publish(const Call& call, const Chunk& chunk, Write& write) {
    wait_for_peers(&Segment::drained, freed_by(chunk));
    mine().call(chunk.number) = call;
    write(chunk, mine().payload(chunk.number));
    raise(mine().filled(), chunk.number + 1);
  }

  template <class Read>
  void consume(const Chunk& chunk, bool first, Read& read) {
    wait_for_peers(&Segment::filled, chunk.number + 1);
    if (first) require_same_calls(chunk.number);
    read(chunk);
    raise(mine().drained(), chunk.number + 1);
  }

  void wait_for_peers(Counter& (Segment::*counter)() const, uint32_t least) {
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer != rank()) wait_for((segments_[size_t(peer)].*counter)(), least, waiting_);
    }
  }

  void require_same_calls(uint32_t chunk) {
    for (size_t r = 0; r < segments_.size(); ++r) calls_[r] = segments_[r].call(chunk);
    require_same(calls_);
  }

  static void copy(void* to, const void* from, int64_t bytes) {
    std::memcpy(to, from, size_t(bytes));
  }
  /// Returns the index of the part for `receiver` in the slot of `sender`. A slot has no part for
  /// its owner.
  static int part_of(int receiver, int sender) { return receiver - (receiver > sender); }
  const Segment& mine() const { return segments_[size_t(rank())]; }
  const std::byte* payload(int peer, const Chunk& chunk) const {
    return segments_[size_t(peer)].payload(chunk.number);
  }

  Waiting waiting_;
  SlotLayout layout_;
  std::vector<Segment> segments_;
  std::vector<Call> calls_;
  std::vector<const std::byte*> sources_;
  uint32_t next_ = 0;
};

std::vector<Segment> map_segments(const World& world, const SlotLayout& layout) {
  const File mine = make_memory_file(layout.segment_bytes());
  const PeerFiles peers = files_of_peers(world, mine);
  std::vector<Segment> segments;
  for (int r = 0; r < world.ranks(); ++r) {
    segments.emplace_back(r == world.rank() ? mine : peers[size_t(r)], layout);
  }
  return segments;
}

}  // namespace

void require_memory_files(int64_t bytes) { make_memory_file(bytes); }

bool all_ranks_share_a_node(int part) { return World(part).shares_a_node(); }

std::unique_ptr<Communicator> make_shm(const ShmOptions& options) {
  const World world(options.part);
  require_ranks(world.ranks());
  world.require_same(options.staging_bytes, "the staging in bytes");
  if (!world.shares_a_node()) {
    refuse(Exit::kUsage, "shared memory between ", world.ranks(),
           " ranks that are not all on one node - set ZERO_COMM=mpi");
  }
  const SlotLayout layout = layout_of(options.staging_bytes, world.ranks());
  return std::make_unique<ShmCommunicator>(world, options, layout, map_segments(world, layout));
}

}  // namespace zero::comm
