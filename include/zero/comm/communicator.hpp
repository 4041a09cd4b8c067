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

/// A piece of a sharded array. The array is `ranks` shards of `shard_numel` elements side by side;
/// the piece is elements [begin, begin + numel) of every shard.
struct Piece {
  int64_t shard_numel;
  int64_t begin;
  int64_t numel;
};

/// What one verb has moved so far on this rank.
struct Traffic {
  int64_t calls = 0;
  int64_t elements_sent = 0;  ///< counted where bytes leave this rank's own memory
  int64_t bytes_sent = 0;
};

struct TrafficTable {
  Traffic all_gather;
  Traffic reduce_scatter;
  Traffic all_reduce;
  Traffic broadcast;
};

/// Memory that peers' devices reach. It ends before the memory and before the communicator do.
class Window {
 public:
  virtual ~Window() = default;
};

/// The ranks that train one model, on one lane. Every verb is collective: all ranks call it with
/// the same sizes in the same order. Verbs are asynchronous on `stream`; a verb is complete locally
/// only when no peer still reads this rank's buffers. A lane owns its communicator, so the
/// collectives of different lanes do not wait for each other.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual std::string_view backend() const = 0;
  /// Whether every rank must call the verbs of all such communicators that it has in one order,
  /// also from several threads: those that are queued on a device could wait there for each other.
  virtual bool needs_one_order() const { return false; }

  /// Device memory to keep what verbs move, zero-filled: of the kind that peers' devices can reach
  /// where the back end knows one. Throws Error(kDoesNotFit).
  virtual Arena take_arena(int64_t bytes) const { return Arena(bytes, Place::device); }
  /// Lets peers' devices reach a block of take_arena(), so that verbs need no copies of their own.
  /// Collective; all ranks' blocks have the same size, and verbs then use the same places of them
  /// on every rank. Null where the back end has no use for it.
  virtual std::unique_ptr<Window> open_window(const Arena& block) {
    static_cast<void>(block);
    return nullptr;
  }

  /// Every rank's piece to every rank.
  ///   shard  this rank's shard, [piece.shard_numel]; may be its place inside `full`
  ///   full   [ranks * piece.shard_numel], the piece's elements of every shard are written
  virtual void all_gather(Stream& stream, Dtype dtype, const Piece& piece, const void* shard,
                          void* full) = 0;

  /// How reduce_scatter leaves its sums.
  enum class Store : uint8_t { write, add };

  struct Reduction {
    Dtype in;                    ///< f32, bf16 or f16: what travels
    Dtype out;                   ///< f32, or `in`: the fp32 sum rounded once
    Store store = Store::write;  ///< add: only with out = f32
    /// Scratch beside the arrays, where more ranks add than one pass of the tree does: fp32,
    /// [kernels::group_sums(ranks), piece.numel].
    float* group_sums = nullptr;
  };

  /// Sums the piece over ranks in fp32 along one balanced tree over ranks (kernels/tree_sum), by
  /// groups of 64 neighbours where there are more, and leaves this rank's shard of it.
  ///   full   [ranks * piece.shard_numel], read
  ///   shard  [piece.shard_numel], elements [begin, begin + numel) written or added to
  virtual void reduce_scatter(Stream& stream, const Reduction& reduction, const Piece& piece,
                              const void* full, void* shard) = 0;

  /// words[i] = sum over ranks, in place; integers, so exact. [numel]
  virtual void all_reduce(Stream& stream, std::span<int64_t> words) = 0;

  /// root's bytes to every rank.
  virtual void broadcast(Stream& stream, std::span<std::byte> bytes, int root) = 0;

  /// Returns when every rank has called it. Blocks the calling thread.
  virtual void barrier() = 0;

  /// Throws the Error of a fault that the back end has noticed by itself: a link or a peer that is
  /// lost. A verb may then wait for ever on the device. Callable from any thread, at any time.
  virtual void require_sound() const {}

  const TrafficTable& traffic() const { return traffic_; }

 protected:
  TrafficTable traffic_;
};

/// The most ranks of a communicator, of any back end: so many have a cache line each in a slot of
/// shared memory. It is also the most that a plan is made for, and that a refusal advises.
inline constexpr int kMostRanks = 8192;

/// Throws Error(kUsage) unless 1 <= ranks <= kMostRanks.
void require_ranks(int64_t ranks);

/// One rank alone: gathers copy (or find the shard in place), sums round.
std::unique_ptr<Communicator> make_self();

}  // namespace zero::comm
