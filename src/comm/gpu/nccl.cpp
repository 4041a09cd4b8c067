#include <nccl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "src/comm/host_communicator.hpp"
#include "zero/base/error.hpp"
#include "zero/comm/backends.hpp"
#include "zero/comm/mpi_world.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/device.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {
namespace {

void check_nccl(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  refuse(Exit::kInternal, what, " failed in NCCL: ", ncclGetErrorString(status), " - ",
         ncclGetLastError(nullptr));
}

/// Ranks of a group call make one launch.
template <class Calls>
void group(const char* what, const Calls& calls) {
  check_nccl(ncclGroupStart(), what);
  calls();
  check_nccl(ncclGroupEnd(), what);
}

/// From 2.26 on NCCL lets the kernels of several communicators begin in the order in which they
/// were queued, which is one order on all ranks (needs_one_order()). A user's own word counts.
void keep_queued_order() { setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0); }

ncclComm_t join(const World& world) {
  keep_queued_order();
  ncclUniqueId mine{};
  if (world.rank() == 0) check_nccl(ncclGetUniqueId(&mine), "naming a communicator");
  const ncclUniqueId id = world.gather(mine).front();
  ncclComm_t made = nullptr;
  check_nccl(ncclCommInitRank(&made, world.ranks(), id, world.rank()), "making a communicator");
  return made;
}

struct DeviceName {
  char text[80] = "";
};

/// NCCL's own words for it come late and name no way out.
void require_own_devices(const World& world) {
  DeviceName mine;
  gpuDeviceProp properties{};
  check_gpu(gpuGetDeviceProperties(&properties, device_in_use()), "asking what a device is");
  std::copy_n(properties.uuid.bytes, sizeof properties.uuid.bytes, mine.text);
  const auto all = world.gather(mine);
  for (size_t r = 0; r < all.size(); ++r) {
    for (size_t s = 0; s < r; ++s) {
      if (!std::equal(all[r].text, all[r].text + 80, all[s].text)) continue;
      refuse(Exit::kUsage, "ranks ", s, " and ", r,
             " drive one GPU, which NCCL refuses: give each rank its own, or exchange through host "
             "memory (run.share_device = true)");
    }
  }
}

/// Where nothing can be thrown, so that it does not go through warn(), which may.
void warn_nccl(ncclResult_t status, const char* what) noexcept {
  if (status == ncclSuccess) return;
  std::fprintf(stderr, "zeroapp: warning: %s failed in NCCL: %s\n", what,
               ncclGetErrorString(status));
}

void give_shared_memory(std::byte* block) noexcept {
  warn_nccl(ncclMemFree(block), "giving device memory back");
}

/// Memory that other devices can map; whole pages of the device, of 2 MiB.
Arena take_shared_arena(int64_t bytes) {
  void* taken = nullptr;
  if (const ncclResult_t status = ncclMemAlloc(&taken, size_t(bytes)); status != ncclSuccess)
    refuse_device_memory(bytes, text(" (NCCL: ", ncclGetErrorString(status), ")"));
  Arena arena(static_cast<std::byte*>(taken), bytes, &give_shared_memory);
  clear_device_memory(arena.data(), bytes);
  return arena;
}

/// Once: there is one for each lane and each block of memory.
void warn_of_no_window(ncclResult_t status) {
  static bool said = false;
  if (said) return;
  said = true;
  warn("NCCL opens no windows (rank 0: ", ncclGetErrorString(status),
       "): exchanges take copies of their own");
}

class NcclWindow final : public Window {
 public:
  NcclWindow(ncclComm_t comm, ncclWindow_t window) : comm_(comm), window_(window) {}
  NcclWindow(const NcclWindow&) = delete;
  NcclWindow& operator=(const NcclWindow&) = delete;
  ~NcclWindow() override {
    warn_nccl(ncclCommWindowDeregister(comm_, window_), "closing a window");
  }

 private:
  ncclComm_t comm_;
  ncclWindow_t window_;
};

class Nccl final : public Communicator {
 public:
  Nccl(const World& world, int64_t staging_bytes)
      : rank_(world.rank()),
        ranks_(world.ranks()),
        comm_(join(world)),
        staging_(ranks_ > 1 ? take_shared_arena(staging_bytes)
                            : Arena(staging_bytes, Place::device)),
        word_(sizeof(int64_t), Place::device),
        own_stream_(1) {
    if (ranks_ > 1) staging_window_ = open_window(staging_);
  }

  ~Nccl() override {
    // The lanes have ended, or a peer has failed; then nobody would come to a proper farewell.
    staging_window_.reset();
    static_cast<void>(ncclCommAbort(comm_));
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  std::string_view backend() const override { return "nccl"; }
  bool needs_one_order() const override { return true; }

  Arena take_arena(int64_t bytes) const override { return take_shared_arena(bytes); }

  /// Whatever NCCL can make of it: kernels that read peers' memory within one NVLink domain, sends
  /// without staging, or nothing, which it says by no handle. All ranks have a window or none.
  std::unique_ptr<Window> open_window(const Arena& block) override {
    ncclWindow_t made = nullptr;
    const ncclResult_t status = ncclCommWindowRegister(comm_, block.data(), size_t(block.bytes()),
                                                       &made, NCCL_WIN_COLL_SYMMETRIC);
    std::unique_ptr<Window> window;
    if (made != nullptr) window = std::make_unique<NcclWindow>(comm_, made);
    if (World().all(made != nullptr)) return window;
    if (rank_ == 0) warn_of_no_window(status);
    return nullptr;
  }

  void all_gather(Stream& stream, Dtype dtype, const Piece& piece, const void* shard,
                  void* full) override {
    require_piece(piece);
    const int64_t bytes = int64_t(bytes_of(dtype));
    if (piece.numel == piece.shard_numel) {
      check_nccl(ncclAllGather(shard, full, size_t(piece.numel * bytes), ncclUint8, comm_,
                               native_stream(stream)),
                 "an all_gather");
    } else {
      gather_pieces(stream, piece, bytes, shard, full);
    }
    count(traffic_.all_gather, piece.numel * (ranks_ - 1), bytes);
  }

  void reduce_scatter(Stream& stream, const Reduction& reduction, const Piece& piece,
                      const void* full, void* shard) override {
    require_piece(piece);
    ZERO_REQUIRE(groups() == 1 || reduction.group_sums != nullptr, "reduce_scatter over ", ranks_,
                 " ranks without room for the sums of their groups");
    const int64_t bytes = int64_t(bytes_of(reduction.in));
    const int64_t most = staging_.bytes() / (std::min(ranks_, kGroup) * bytes);
    for (int64_t first = 0; first < piece.numel; first += most) {
      const Piece part{piece.shard_numel, piece.begin + first, std::min(most, piece.numel - first)};
      for (int number = 0; number < groups(); ++number) {
        const Round round{reduction, part, number};
        exchange(stream, round, static_cast<const std::byte*>(full));
        sum(stream, round, shard);
      }
    }
    count(traffic_.reduce_scatter, piece.numel * (ranks_ - 1), bytes);
  }

  void all_reduce(Stream& stream, std::span<int64_t> words) override {
    check_nccl(ncclAllReduce(words.data(), words.data(), words.size(), ncclInt64, ncclSum, comm_,
                             native_stream(stream)),
               "an all_reduce");
    count(traffic_.all_reduce, int64_t(words.size()) * (ranks_ - 1), sizeof(int64_t));
  }

  void broadcast(Stream& stream, std::span<std::byte> bytes, int root) override {
    check_nccl(ncclBroadcast(bytes.data(), bytes.data(), bytes.size(), ncclUint8, root, comm_,
                             native_stream(stream)),
               "a broadcast");
    count(traffic_.broadcast, rank_ == root ? int64_t(bytes.size()) * (ranks_ - 1) : 0, 1);
  }

  void barrier() override {
    check_nccl(ncclAllReduce(word_.data(), word_.data(), 1, ncclInt64, ncclSum, comm_,
                             native_stream(own_stream_)),
               "a barrier");
    own_stream_.wait();
  }

 private:
  /// Pieces of all shards do not lie side by side: each comes from its own root.
  void gather_pieces(Stream& stream, const Piece& piece, int64_t bytes, const void* shard,
                     void* full) {
    const auto* const mine = static_cast<const std::byte*>(shard) + piece.begin * bytes;
    group("an all_gather", [&] {
      for (int r = 0; r < ranks_; ++r) {
        std::byte* const to =
            static_cast<std::byte*>(full) + (r * piece.shard_numel + piece.begin) * bytes;
        check_nccl(ncclBroadcast(r == rank_ ? mine : to, to, size_t(piece.numel * bytes), ncclUint8,
                                 r, comm_, native_stream(stream)),
                   "an all_gather");
      }
    });
  }

  /// Neighbours whose parts are added in one pass of the tree.
  static constexpr int kGroup = kernels::kMaxTreeSources;
  int groups() const { return kernels::groups_of(ranks_, kGroup); }

  /// What a round brings of a piece. In round k a rank receives from the k-th group after its own,
  /// and sends to the ranks for which its own group is that one.
  struct Round {
    const Reduction& reduction;
    Piece part;
    int number;
  };
  struct Ranks {
    int first, last;
  };
  /// `behind` may be negative, less than once round.
  Ranks group_at(int behind) const {
    const int first = (rank_ / kGroup + behind + groups()) % groups() * kGroup;
    return {first, std::min(first + kGroup, ranks_)};
  }

  /// Every part of this rank's shard that comes in the round, side by side in the staging, in rank
  /// order.
  void exchange(Stream& stream, const Round& round, const std::byte* full) {
    const Piece& part = round.part;
    const int64_t element = int64_t(bytes_of(round.reduction.in));
    const size_t bytes = size_t(part.numel * element);
    const Ranks from = group_at(round.number), to = group_at(-round.number);
    const auto of_rank = [&](int r) {
      return full + (r * part.shard_numel + part.begin) * element;
    };
    const auto staged = [&](int r) { return staging_.data() + size_t(r - from.first) * bytes; };
    group("a reduce_scatter", [&] {
      for (int r = to.first; r < to.last; ++r) {
        if (r == rank_) continue;
        check_nccl(ncclSend(of_rank(r), bytes, ncclUint8, r, comm_, native_stream(stream)),
                   "sending");
      }
      for (int r = from.first; r < from.last; ++r) {
        if (r == rank_) continue;
        check_nccl(ncclRecv(staged(r), bytes, ncclUint8, r, comm_, native_stream(stream)),
                   "receiving");
      }
    });
    if (round.number == 0) copy_bytes(stream, {of_rank(rank_), bytes}, staged(rank_));
  }

  void sum(Stream& stream, const Round& round, void* shard) {
    const Reduction& reduction = round.reduction;
    const bool to_fp32 = reduction.out == Dtype::f32;
    ZERO_REQUIRE(to_fp32 || reduction.out == reduction.in, "reduce_scatter of ",
                 name_of(reduction.in), " into ", name_of(reduction.out));
    switch (reduction.in) {
      case Dtype::f32:
        return sum_as<float, float>(stream, round, shard);
      case Dtype::bf16:
        return to_fp32 ? sum_as<bf16, float>(stream, round, shard)
                       : sum_as<bf16, bf16>(stream, round, shard);
      case Dtype::f16:
        return to_fp32 ? sum_as<f16, float>(stream, round, shard)
                       : sum_as<f16, f16>(stream, round, shard);
      default:
        ZERO_REQUIRE(false, "reduce_scatter of ", name_of(reduction.in),
                     ": sums take fp32, bf16 or fp16");
    }
  }

  template <class T, class Out>
  void sum_as(Stream& stream, const Round& round, void* shard) {
    const int64_t numel = round.part.numel;
    const Ranks from = group_at(round.number);
    const kernels::Stack stack{from.last - from.first, numel};
    const T* const staged = reinterpret_cast<const T*>(staging_.data());
    Out* const out = static_cast<Out*>(shard) + round.part.begin;
    const bool add = round.reduction.store == Store::add;
    float* const sums = round.reduction.group_sums;
    if (groups() == 1) return kernels::stacked_sum(stream, stack, numel, staged, out, add);
    kernels::stacked_sum(stream, stack, numel, staged, sums + from.first / kGroup * numel, false);
    if (round.number < groups() - 1) return;
    kernels::stacked_sum_of_groups(stream, sums, groups(), numel, out, add);
  }

  static void count(Traffic& verb, int64_t elements, int64_t bytes) {
    ++verb.calls;
    verb.elements_sent += elements;
    verb.bytes_sent += elements * bytes;
  }

  int rank_, ranks_;
  ncclComm_t comm_;
  Arena staging_, word_;
  std::unique_ptr<Window> staging_window_;
  Stream own_stream_;
};

}  // namespace

bool has_nccl() { return true; }

std::unique_ptr<Communicator> make_nccl(const NcclOptions& options) {
  const World world(options.part);
  require_ranks(world.ranks());
  const int64_t least = 4 * std::min(world.ranks(), kernels::kMaxTreeSources);
  if (options.staging_bytes < least) {
    refuse(Exit::kUsage, "staging of ", options.staging_bytes, " bytes for ", world.ranks(),
           " ranks: need at least ", least);
  }
  require_own_devices(world);
  return std::make_unique<Nccl>(world, options.staging_bytes);
}

}  // namespace zero::comm
