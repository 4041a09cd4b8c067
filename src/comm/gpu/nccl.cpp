#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>

#include "src/comm/gpu/nccl_status.hpp"
#include "src/comm/host_communicator.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/shared_files.hpp"
#include "zero/comm/backends.hpp"
#include "zero/comm/mpi_world.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/device.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {
namespace {

/// Tells NCCL 2.26 and later to start kernels of several communicators in queued order, which is
/// equal on all ranks (needs_one_order()). Keeps a value that the user has set.
void keep_queued_order() { setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0); }

ncclComm_t join(const World& world) {
  keep_queued_order();
  use_chosen_device();
  ncclUniqueId mine{};
  if (world.rank() == 0) check_nccl(ncclGetUniqueId(&mine), "naming a communicator");
  const ncclUniqueId id = world.gather(mine).front();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.splitShare = 1;
  ncclComm_t made = nullptr;
  check_nccl(ncclCommInitRankConfig(&made, world.ranks(), id, world.rank(), &config),
             "making a communicator");
  return made;
}

/// Makes a communicator that shares connections, buffers and the stream that orders kernels.
ncclComm_t split_from(ncclComm_t whole, int rank) {
  ncclComm_t made = nullptr;
  check_nccl(ncclCommSplit(whole, 0, rank, &made, nullptr), "splitting a communicator");
  return made;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

/// The name by which NCCL tells GPUs apart.
struct DeviceName {
  char text[256] = "";
  bool operator==(const DeviceName& other) const {
    return std::equal(text, text + sizeof text, other.text);
  }
};

DeviceName name_of_device() {
  gpuDeviceProp properties{};
  check_gpu(gpuGetDeviceProperties(&properties, device_in_use()), "asking what a device is");
  DeviceName name;
  std::copy_n(properties.uuid.bytes, sizeof properties.uuid.bytes, name.text);
  // NCCL takes ranks with different host names for ranks of different nodes, and looks no further.
  const std::string host = variable("NCCL_HOSTID");
  host.copy(name.text + sizeof properties.uuid.bytes,
            sizeof name.text - sizeof properties.uuid.bytes);
  return name;
}

/// Throws Error(kUsage) if two ranks drive one GPU. NCCL's error comes late and has no remedy.
void require_own_devices(const World& world) {
  const auto all = world.gather(name_of_device());
  if (nccl_shares_devices() && variable("NCCL_MULTI_RANK_GPU_ENABLE") == "1") return;
  for (size_t r = 0; r < all.size(); ++r) {
    const auto same = std::find(all.begin(), all.begin() + int64_t(r), all[r]) - all.begin();
    if (same == int64_t(r)) continue;
    refuse(Exit::kUsage, "ranks ", same, " and ", r,
           " drive one GPU, which NCCL refuses: give each rank its own, or exchange through host "
           "memory (run.share_device = true); to try NCCL all the same, start the ranks by ",
           shared_file("tools/nccl_on_one_gpu.sh"));
  }
}

void give_shared_memory(std::byte* block) noexcept {
  prefer_chosen_device();
  warn_nccl(ncclMemFree(block), "giving device memory back");
}

/// Takes memory that other devices can map, in whole device pages of 2 MiB.
Arena take_shared_arena(int64_t bytes) {
  use_chosen_device();
  void* taken = nullptr;
  const ncclResult_t status = ncclMemAlloc(&taken, size_t(bytes));
  if (is_for_memory(status))
    refuse_device_memory(bytes, text(" (NCCL: ", ncclGetErrorString(status), ")"));
  check_nccl(status, "taking device memory");
  Arena arena(static_cast<std::byte*>(taken), bytes, &give_shared_memory);
  clear_device_memory(arena.data(), bytes);
  return arena;
}

/// Warns once, though each lane and block of memory comes here.
void warn_of_no_window() {
  static bool said = false;
  if (said) return;
  said = true;
  warn("NCCL opens no windows on these ranks: exchanges take copies of their own");
}

class NcclWindow final : public Window {
 public:
  NcclWindow(ncclComm_t comm, ncclWindow_t window) : comm_(comm), window_(window) {}
  NcclWindow(const NcclWindow&) = delete;
  NcclWindow& operator=(const NcclWindow&) = delete;
  ~NcclWindow() override {
    prefer_chosen_device();
    warn_nccl(ncclCommWindowDeregister(comm_, window_), "closing a window");
  }

 private:
  ncclComm_t comm_;
  ncclWindow_t window_;
};

class Nccl final : public Communicator {
 public:
  /// `whole`: the communicator to share resources with, or null.
  Nccl(std::unique_ptr<const World> world, const NcclOptions& options, const Nccl* whole)
      : world_(std::move(world)),
        group_(options.group),
        comm_(whole ? split_from(whole->comm_, rank_) : join(*world_)),
        staging_(take_staging(options.staging_bytes, ranks_)),
        word_(sizeof(int64_t), Place::device),
        own_stream_(1) {
    if (ranks_ > 1 && staging_.bytes() > 0) staging_window_ = open_window(staging_);
  }

  /// All ranks wait here for each other, but not after a failure, because the peers would not come.
  ~Nccl() override {
    prefer_chosen_device();
    staging_window_.reset();
    if (failed_ || std::uncaught_exceptions() > exceptions_) {
      warn_nccl(ncclCommAbort(comm_), "giving a communicator up");
      return;
    }
    warn_nccl(ncclCommFinalize(comm_), "ending a communicator");
    warn_nccl(ncclCommDestroy(comm_), "ending a communicator");
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  std::string_view backend() const override { return "nccl"; }
  Border border() const override { return {places_.node_ranks(), /*gathers_once=*/true}; }
  bool needs_one_order() const override { return true; }

  Arena take_arena(int64_t bytes) const override { return take_shared_arena(bytes); }

  /// Lets NCCL choose: kernels that read peers' memory within one NVLink domain, sends without
  /// staging, or nothing (success without a handle). Either all ranks have a window or none has.
  std::unique_ptr<Window> open_window(const Arena& block) override {
    use_chosen_device();
    ncclWindow_t made = nullptr;
    const ncclResult_t status = ncclCommWindowRegister(comm_, block.data(), size_t(block.bytes()),
                                                       &made, NCCL_WIN_COLL_SYMMETRIC);
    std::unique_ptr<Window> window;
    if (made != nullptr) window = std::make_unique<NcclWindow>(comm_, made);
    const bool all_have_one = world_->all(made != nullptr);
    check(status, "registering memory");  // only here, so no peer waits for this rank
    if (all_have_one) return window;
    if (rank_ == 0) warn_of_no_window();
    return nullptr;
  }

  void all_gather(Stream& stream, Dtype dtype, const Piece& piece, const void* shard,
                  void* full) override {
    require_piece(piece);
    const int64_t bytes = int64_t(bytes_of(dtype));
    if (piece.numel == piece.shard_numel) {
      check(ncclAllGather(shard, full, size_t(piece.numel * bytes), ncclUint8, comm_,
                          native_stream(stream)),
            "an all_gather");
    } else {
      gather_pieces(stream, piece, bytes, shard, full);
    }
    count(traffic_.all_gather, piece.numel, bytes, places_.nodes - 1);
  }

  void reduce_scatter(Stream& stream, const Reduction& reduction, const Piece& piece,
                      const void* full, void* shard) override {
    require_piece(piece);
    require_reduction(reduction);
    ZERO_REQUIRE(staging_.bytes() > 0, "reduce_scatter by a communicator without staging");
    ZERO_REQUIRE(groups() == 1 || reduction.group_sums != nullptr, "reduce_scatter over ", ranks_,
                 " ranks without room for the sums of their groups");
    const int64_t bytes = int64_t(bytes_of(reduction.in));
    const int64_t most = part_numel(staging_.bytes(), std::min(ranks_, group_) * bytes);
    for (int64_t first = 0; first < piece.numel; first += most) {
      const int64_t numel = std::min(most, piece.numel - first);
      const Piece part{piece.shard_numel, piece.begin + first, numel};
      // The last part may be short, but its rows begin at a multiple of kPartElements.
      const int64_t stride = std::min(most, round_up(numel, kPartElements));
      for (int number = 0; number < groups(); ++number) {
        const Round round{reduction, part, stride, number};
        exchange(stream, round, static_cast<const std::byte*>(full));
        sum(stream, round, shard);
      }
    }
    count(traffic_.reduce_scatter, piece.numel, bytes, places_.away);
  }

  void all_reduce(Stream& stream, std::span<int64_t> words) override {
    ZERO_REQUIRE(!words.empty(), "all_reduce of 0 words: need at least one");
    check(ncclAllReduce(words.data(), words.data(), words.size(), ncclInt64, ncclSum, comm_,
                        native_stream(stream)),
          "an all_reduce");
    count(traffic_.all_reduce, int64_t(words.size()), sizeof(int64_t), places_.nodes - 1);
  }

  void broadcast(Stream& stream, std::span<std::byte> bytes, int root) override {
    ZERO_REQUIRE(!bytes.empty(), "broadcast of 0 bytes: need at least one");
    check(ncclBroadcast(bytes.data(), bytes.data(), bytes.size(), ncclUint8, root, comm_,
                        native_stream(stream)),
          "a broadcast");
    count(traffic_.broadcast, rank_ == root ? int64_t(bytes.size()) : 0, 1, places_.nodes - 1);
  }

  void barrier() override {
    check(ncclAllReduce(word_.data(), word_.data(), 1, ncclInt64, ncclSum, comm_,
                        native_stream(own_stream_)),
          "a barrier");
    own_stream_.wait();
  }

  void require_sound() const override {
    ncclResult_t found = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(comm_, &found), "asking for errors");
    if (found != ncclInProgress) check_nccl(found, "communication between ranks");
  }

 private:
  /// Takes memory that peers can reach, if there are any. Empty for a communicator without sums.
  static Arena take_staging(int64_t bytes, int ranks) {
    if (bytes == 0) return {};
    return ranks > 1 ? take_shared_arena(bytes) : Arena(bytes, Place::device);
  }

  void check(ncclResult_t status, const char* what) {
    if (status != ncclSuccess) failed_ = true;
    check_nccl(status, what);
  }
  template <class Calls>
  void group(const char* what, const Calls& calls) {
    check(ncclGroupStart(), what);
    const ncclResult_t called = calls();
    // Ends the group in any case, because NCCL counts open groups per thread.
    const ncclResult_t ended = ncclGroupEnd();
    check(called, what);
    check(ended, what);
  }

  /// Broadcasts each rank's piece along the ring that whole shards take, because the pieces do not
  /// lie side by side. Not as a group, in which a kernel of NCCL 2.28.9 read address 0.
  void gather_pieces(Stream& stream, const Piece& piece, int64_t bytes, const void* shard,
                     void* full) {
    const auto* const mine = static_cast<const std::byte*>(shard) + piece.begin * bytes;
    for (int r = 0; r < ranks_; ++r) {
      std::byte* const to =
          static_cast<std::byte*>(full) + (r * piece.shard_numel + piece.begin) * bytes;
      check(ncclBroadcast(r == rank_ ? mine : to, to, size_t(piece.numel * bytes), ncclUint8, r,
                          comm_, native_stream(stream)),
            "an all_gather");
    }
  }

  int groups() const { return kernels::groups_of(ranks_, group_); }

  /// A round of the exchange of a part. In round k a rank receives from the k-th group after its
  /// own. It sends to all ranks whose k-th group after their own is its group.
  struct Round {
    const Reduction& reduction;
    Piece part;
    int64_t stride;  ///< elements between the rows of two ranks in the staging
    int number;
  };
  struct Ranks {
    int first, last;
  };
  /// Returns the ranks of the group `behind` places after this rank's. `behind` is above -groups().
  Ranks group_at(int behind) const {
    const int first = (rank_ / group_ + behind + groups()) % groups() * group_;
    return {first, std::min(first + group_, ranks_)};
  }

  /// Sends the round's parts to peers. Receives the parts of this rank's shard into the staging,
  /// side by side in rank order.
  void exchange(Stream& stream, const Round& round, const std::byte* full) {
    const Piece& part = round.part;
    const int64_t element = int64_t(bytes_of(round.reduction.in));
    const size_t bytes = size_t(part.numel * element);
    const Ranks from = group_at(round.number), to = group_at(-round.number);
    const auto of_rank = [&](int r) {
      return full + (r * part.shard_numel + part.begin) * element;
    };
    const auto staged = [&](int r) {
      return staging_.data() + (r - from.first) * round.stride * element;
    };
    group("a reduce_scatter", [&] {
      ncclResult_t status = ncclSuccess;
      for (int r = to.first; r < to.last && status == ncclSuccess; ++r) {
        if (r != rank_)
          status = ncclSend(of_rank(r), bytes, ncclUint8, r, comm_, native_stream(stream));
      }
      for (int r = from.first; r < from.last && status == ncclSuccess; ++r) {
        if (r != rank_)
          status = ncclRecv(staged(r), bytes, ncclUint8, r, comm_, native_stream(stream));
      }
      return status;
    });
    if (round.number == 0) copy_bytes(stream, {of_rank(rank_), bytes}, staged(rank_));
  }

  void sum(Stream& stream, const Round& round, void* shard) {
    const Reduction& reduction = round.reduction;
    const bool to_fp32 = reduction.out == Dtype::f32;
    switch (reduction.in) {
      case Dtype::bf16:
        return to_fp32 ? sum_as<bf16, float>(stream, round, shard)
                       : sum_as<bf16, bf16>(stream, round, shard);
      case Dtype::f16:
        return to_fp32 ? sum_as<f16, float>(stream, round, shard)
                       : sum_as<f16, f16>(stream, round, shard);
      default:
        return sum_as<float, float>(stream, round, shard);
    }
  }

  template <class T, class Out>
  void sum_as(Stream& stream, const Round& round, void* shard) {
    const int64_t numel = round.part.numel;
    const Ranks from = group_at(round.number);
    const kernels::Stack stack{from.last - from.first, round.stride};
    const T* const staged = reinterpret_cast<const T*>(staging_.data());
    Out* const out = static_cast<Out*>(shard) + round.part.begin;
    const bool add = round.reduction.store == Store::add;
    float* const sums = round.reduction.group_sums;
    if (groups() == 1) return kernels::stacked_sum(stream, stack, numel, staged, out, add);
    kernels::stacked_sum(stream, stack, numel, staged, sums + from.first / group_ * numel, false);
    if (round.number < groups() - 1) return;
    kernels::stacked_sum_of_groups(stream, sums, groups(), numel, out, add);
  }

  /// Counts elements that all peers receive. `crossings`: how often each leaves the node.
  void count(Traffic& verb, int64_t numel, int64_t bytes, int64_t crossings) const {
    count_call(verb, numel * (ranks_ - 1), bytes, numel * crossings * bytes);
  }

  const std::unique_ptr<const World> world_;
  const World::Places places_ = world_->places();
  const int rank_ = world_->rank(), ranks_ = world_->ranks();
  int group_;  ///< neighbours whose parts one pass of the tree adds
  const int exceptions_ = std::uncaught_exceptions();
  std::atomic<bool> failed_{false};
  ncclComm_t comm_;
  Arena staging_, word_;
  std::unique_ptr<Window> staging_window_;
  Stream own_stream_;
};

}  // namespace

bool has_nccl() { return true; }

bool nccl_shares_devices() {
  int version = 0;
  check_nccl(ncclGetVersion(&version), "asking for its version");
  return version >= 23000;
}

std::unique_ptr<Communicator> make_nccl(const NcclOptions& options) {
  auto world = std::make_unique<const World>(options.part);
  require_ranks(world->ranks());
  const int64_t least = 4 * std::min(world->ranks(), options.group);
  if (options.staging_bytes != 0 && options.staging_bytes < least) {
    refuse(Exit::kUsage, "staging of ", options.staging_bytes, " bytes for ", world->ranks(),
           " ranks: need at least ", least);
  }
  const auto* const whole = dynamic_cast<const Nccl*>(options.shares_with);
  ZERO_REQUIRE(whole != nullptr || options.shares_with == nullptr,
               "a communicator of NCCL shares resources with NCCL's alone");
  if (whole == nullptr) require_own_devices(*world);
  return std::make_unique<Nccl>(std::move(world), options, whole);
}

}  // namespace zero::comm
