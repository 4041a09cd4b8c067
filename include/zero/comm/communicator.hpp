#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "zero/base/dtype.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/stream.hpp"

namespace zero::comm {

/// A piece of a sharded array. The array is `ranks` shards of `shard_numel` elements side by side.
/// The piece is elements [begin, begin + numel) of every shard.
struct Piece {
  int64_t shard_numel;
  int64_t begin;
  int64_t numel;
};

/// The totals that one verb has moved on this rank.
struct Traffic {
  int64_t calls = 0;
  int64_t elements_sent = 0;  ///< elements that left this rank's memory, once for every receiver
  int64_t bytes_sent = 0;
  int64_t node_bytes_sent = 0;  ///< bytes that this rank sent to other nodes
};

struct TrafficTable {
  Traffic all_gather;
  Traffic reduce_scatter;
  Traffic all_reduce;
  Traffic broadcast;
};

/// The way in which verbs cross the border of a node. Equal on all ranks of a communicator.
struct Border {
  int64_t node_ranks = 0;     ///< ranks of a full node; 0: all ranks share one
  bool gathers_once = false;  ///< a shard crosses to a node once, not once for each of its ranks
  bool sums_once = false;     ///< a node's fp32 sum of a shard crosses, not each rank's part of it
};

/// Memory that peers' devices reach. Destroy it before the memory and before the communicator.
class Window {
 public:
  virtual ~Window() = default;
};

/// The ranks that train one model, on one lane. Every verb is collective: all ranks call it with
/// equal sizes in one order. Verbs are asynchronous on `stream`. A verb is complete locally only
/// when no peer still reads this rank's buffers. Every lane owns a communicator, so collectives of
/// different lanes do not wait for each other.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Returns the back end's name, such as "mpi".
  virtual std::string_view backend() const = 0;
  virtual Border border() const { return {}; }
  /// True if every rank must call the verbs of all its communicators of this kind in one order,
  /// also from several threads. Verbs that are queued on a device could wait there for each other.
  virtual bool needs_one_order() const { return false; }

  /// Takes `bytes` of device memory for the arrays of verbs, zero-filled. Peers' devices can reach
  /// it if the back end knows such memory. Throws Error(kDoesNotFit).
  virtual Arena take_arena(int64_t bytes) const { return Arena(bytes, Place::device); }
  /// Lets peers' devices reach `block`, of take_arena(), while the returned object lives, so verbs
  /// need no copies of their own. Null if the back end has no use for it. Collective. REQUIRES: all
  /// ranks' blocks have one size, and verbs use equal offsets of them on every rank.
  virtual std::unique_ptr<Window> open_window(const Arena& block) {
    static_cast<void>(block);
    return nullptr;
  }

  /// Copies every rank's piece, of elements of `dtype`, to every rank.
  ///   shard  this rank's shard, [piece.shard_numel]; may be its place in `full`
  ///   full   [ranks * piece.shard_numel]; writes the piece's elements of every shard
  virtual void all_gather(Stream& stream, Dtype dtype, const Piece& piece, const void* shard,
                          void* full) = 0;

  /// The way in which reduce_scatter stores its sums.
  enum class Store : uint8_t { write, add };

  struct Reduction {
    Dtype in;                    ///< f32, bf16 or f16: the dtype that travels
    Dtype out;                   ///< f32, or `in`: the fp32 sum rounded once
    Store store = Store::write;  ///< add: only if out = f32
    /// Scratch for more ranks than one pass of the tree adds: fp32, [kernels::group_sums(ranks),
    /// piece.numel].
    float* group_sums = nullptr;
  };

  /// Sums the piece over ranks and stores this rank's shard of the sum. The sum is fp32, along one
  /// balanced tree over ranks (kernels/tree_sum), by groups of 64 neighbours if there are more.
  ///   full   [ranks * piece.shard_numel], read
  ///   shard  [piece.shard_numel], elements [begin, begin + numel) written or added to
  virtual void reduce_scatter(Stream& stream, const Reduction& reduction, const Piece& piece,
                              const void* full, void* shard) = 0;

  /// Replaces words[i] by its sum over ranks, for each i. Exact, because words are integers.
  virtual void all_reduce(Stream& stream, std::span<int64_t> words) = 0;

  /// Copies `bytes` of the rank `root` to `bytes` of every rank.
  virtual void broadcast(Stream& stream, std::span<std::byte> bytes, int root) = 0;

  /// Blocks the calling thread until every rank has called it.
  virtual void barrier() = 0;

  /// Throws the Error of a lost link or peer that the back end has noticed. A verb may then wait
  /// for ever on the device. Callable from any thread, at any time.
  virtual void require_sound() const {}

  const TrafficTable& traffic() const { return traffic_; }

 protected:
  TrafficTable traffic_;
};

/// Maximum ranks of a communicator, of a plan and of the advice in a refusal, for any back end. A
/// slot of shared memory has a cache line for each.
inline constexpr int kMostRanks = 8192;

/// Throws Error(kUsage) unless 1 <= ranks <= kMostRanks.
void require_ranks(int64_t ranks);

/// Makes a communicator of this rank alone. Gathers copy (or find the shard in place), sums round.
std::unique_ptr<Communicator> make_self();

}  // namespace zero::comm
