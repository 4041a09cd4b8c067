#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "zero/launch/peers.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/unit.hpp"

namespace zero::run {
class Buffers;
}

namespace zero::state {

/// A view of the training state that one rank holds: a plan and its persistent buffers.
struct StateView {
  const plan::Plan* plan;
  int rank;
  /// Returns the bytes of a buffer that is not far.
  std::function<std::span<std::byte>(int32_t buffer)> bytes;
  bool device_apart = false;  ///< the device has memory that the host may not touch
  /// Read and write a far buffer from byte `offset` on. Several threads may call them. Unset in
  /// plans without far buffers.
  std::function<void(int32_t buffer, int64_t offset, std::span<std::byte> out)> read_far = {};
  std::function<void(int32_t buffer, int64_t offset, std::span<const std::byte> in)> write_far = {};

  /// True if a buffer is on disk or in the memory of a device.
  bool is_far(int32_t buffer) const {
    const plan::Tier tier = plan->buffers[size_t(buffer)].tier;
    return tier == plan::Tier::nvme || (device_apart && tier == plan::Tier::device);
  }

  /// Returns the elements of a buffer that is not far.
  template <class T>
  std::span<T> values(int32_t buffer) const {
    const std::span<std::byte> raw = bytes(buffer);
    return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
  }
};

/// Returns the view of `rank`: a plan and its executor's buffers. REQUIRES: `buffers` outlives the
/// view.
StateView view_of(const plan::Plan& plan, int rank, run::Buffers& buffers);

/// A range of elements [begin, end) of a unit.
struct UnitRange {
  int64_t begin, end;
};

/// Returns the range of a buffer of `unit` that `rank` holds: its shard if `sharded`, else all.
UnitRange held_range(const plan::Unit& unit, bool sharded, int rank);
/// Returns the range of the weight of `unit` that `rank` holds. It contains that of the states.
UnitRange weight_range(const plan::Unit& unit, int rank);
/// Returns the range of `unit` that `rank` fills before the first step: that of its states, or of a
/// frozen unit's weight, which no step completes.
UnitRange filled_range(const plan::Unit& unit, int rank);

/// A state: the master, which weight and low make, or the optimizer's with this index.
enum class StateKind : int { master = -1 };
/// Returns the master and optimizer states of a plan's unit, in the order of hashes and
/// checkpoints. A frozen unit has only the master, which is its weight.
std::vector<StateKind> state_kinds(const plan::Plan& plan, const plan::Unit& unit);

/// Reads a range of a state of `unit` in fp32. REQUIRES: the view's rank holds all of it.
///   out [end - begin]
void read_state(const StateView& view, const plan::Unit& unit, StateKind kind, UnitRange range,
                std::span<float> out);

/// Reads a range of the weights of `unit` in the compute type. REQUIRES: the view's rank holds all
/// of it.
///   out [end - begin] elements
void read_weights(const StateView& view, const plan::Unit& unit, UnitRange range,
                  std::span<std::byte> out);

/// Reads the low halves that complete bf16 weights of `unit` to masters, from element range.begin
/// on.
///   out [end - begin] int16_t
void read_lows(const StateView& view, const plan::Unit& unit, UnitRange range,
               std::span<std::byte> out);

/// Joins weight[i] and low[i] to master[i]. REQUIRES: all have one length.
void join_masters(std::span<const bf16> weight, std::span<const int16_t> low,
                  std::span<float> master);

/// Writes `values` to a state, from element `begin` of the unit on. REQUIRES: the view's rank holds
/// all of it.
void write_state(const StateView& view, const plan::Unit& unit, StateKind kind, int64_t begin,
                 std::span<const float> values);

/// Returns the view's memory of a range of a state of `unit`, which read_state() copies and
/// write_state() changes. Returns none if it is far, or a master that is not an fp32 weight.
/// REQUIRES: the view's rank holds all of it.
std::span<float> state_in_memory(const StateView& view, const plan::Unit& unit, StateKind kind,
                                 UnitRange range);

/// Returns the memory of a range of weights of `unit` as state_in_memory(); none if they are far.
std::span<const std::byte> weights_in_memory(const StateView& view, const plan::Unit& unit,
                                             UnitRange range);
/// Returns the view's memory of the low halves of a range of bf16 masters of `unit`; none if they
/// are far.
std::span<const std::byte> lows_in_memory(const StateView& view, const plan::Unit& unit,
                                          UnitRange range);

/// Writes fp32 masters to the view as weights and lows, from element `begin` of the unit on, as far
/// as this rank holds them.
void write_master(const StateView& view, const plan::Unit& unit, int64_t begin,
                  std::span<const float> master);

/// Fills the initial weights and what completes them to fp32 masters. Element e of parameter p is
/// deviation * initial_normal(seed, p, e) rounded to fp32, 0 or 1 by its Init. Rows that pad the
/// vocabulary and gaps of a unit stay unchanged (zero in a new arena). Each rank fills the shard
/// whose optimizer state it holds; the first gather completes whole weights. Also calls
/// fill_initial_states(). Uses `threads` threads.
void fill_initial_weights(const StateView& view, uint64_t seed, int threads);

/// Fills this rank's part of the optimizer states that begin with another number than zero, the
/// content of a new arena. Gaps stay unchanged.
void fill_initial_states(const StateView& view);

/// Returns the indices of a graph's parameters in the order of their names.
std::vector<int32_t> parameters_by_name(const graph::Graph& graph);

/// The place of a parameter, without padding.
struct Located {
  const plan::Unit* unit;
  UnitRange range;
};
/// Returns the place in a plan of the parameter of this index.
Located locate(const plan::Plan& plan, int32_t parameter);

/// Joins a state of a parameter, without padding, on rank 0. `visit` receives it there in order, in
/// pieces of at most 4 MiB, and nothing elsewhere. Collective. REQUIRES: all ranks ask for the same
/// parameters in the same order.
void join_state(const StateView& view, const launch::Peers& peers, StateKind kind,
                int32_t parameter, const std::function<void(std::span<const float>)>& visit);

/// Returns the SHA-256 of the training state as a stream of little-endian fp32: for each parameter,
/// in the order of names, its master and optimizer states without padding. The digest is equal at
/// every stage, rank count and precision that computes the same numbers. A thread of rank 0 hashes,
/// 1 to 2 GB/s. Collective; the digest is on rank 0, "" elsewhere.
std::string state_sha256(const StateView& view, const launch::Peers& peers);

/// Returns a digest of the numbers that state_sha256() hashes, by `threads` threads of each rank,
/// as fast as memory or the way from a device. Each parameter's master and states are cut into
/// blocks of 4 MiB of fp32, the last of which may be shorter. The digest is XXH3-128 of the blocks'
/// XXH3-128, one after the other. It depends neither on threads nor on ranks, stage or homes. 32
/// hexadecimal digits on rank 0, "" elsewhere. Collective.
///
/// Ranks that hold copies of one state share its blocks, so a differing copy shows.
std::string state_xxh3(const StateView& view, const launch::Peers& peers, int threads);

/// Joins the views of all ranks. Calls `set` with all fp32 master weights, on each of the first
/// `holders` ranks: the index of a parameter, the first element of a piece, and its elements
/// without padding. With one holder a piece has at most 4 MiB, else it is the whole parameter.
/// Collective. REQUIRES: nothing else uses `peers` meanwhile.
void join_weights(const StateView& view, const launch::Peers& peers, int holders,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set);

}  // namespace zero::state
