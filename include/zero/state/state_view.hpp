#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "zero/launch/peers.hpp"
#include "zero/plan/plan.hpp"

namespace zero::run {
class Buffers;
}

namespace zero::state {

/// The state of training that one rank holds: a plan, and the bytes of its persistent buffers.
struct StateView {
  const plan::Plan* plan;
  int rank;
  /// The bytes of a buffer that is not far.
  std::function<std::span<std::byte>(int32_t buffer)> bytes;
  bool device_apart = false;  ///< the device has memory that the host may not touch
  /// Read and write a far buffer, from byte `offset` on; from several threads at once. Unset where
  /// the plan has none.
  std::function<void(int32_t buffer, int64_t offset, std::span<std::byte> out)> read_far = {};
  std::function<void(int32_t buffer, int64_t offset, std::span<const std::byte> in)> write_far = {};

  /// Whether a buffer is on disk or in the memory of a device.
  bool is_far(int32_t buffer) const {
    const plan::Tier tier = plan->buffers[size_t(buffer)].tier;
    return tier == plan::Tier::nvme || (device_apart && tier == plan::Tier::device);
  }

  template <class T>
  std::span<T> values(int32_t buffer) const {
    const std::span<std::byte> raw = bytes(buffer);
    return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
  }
};

/// Views an executor's buffers, which outlive the view.
StateView view_of(const plan::Plan& plan, int rank, run::Buffers& buffers);

/// Elements [begin, end) of a unit.
struct UnitRange {
  int64_t begin, end;
};

/// What this rank holds of a buffer of `unit` that is sharded over ranks or whole on each of them.
UnitRange held_range(const plan::Unit& unit, bool sharded, int rank);

/// The master, which weight and low make, or a state of the optimizer: its place in the list.
enum class StateKind : int { master = -1 };
/// Master and states of a plan's optimizer, in the order of hashes and checkpoints; of a frozen
/// unit, whose weight is its master, that alone.
std::vector<StateKind> state_kinds(const plan::Plan& plan, const plan::Unit& unit);

/// A range of one state of `unit` in fp32, all of which the view's rank must hold.
///   out [end - begin]
void read_state(const StateView& view, const plan::Unit& unit, StateKind kind, UnitRange range,
                std::span<float> out);

/// A range of the weights of `unit` in the compute type, all of which the view's rank must hold.
///   out [end - begin] elements
void read_weights(const StateView& view, const plan::Unit& unit, UnitRange range,
                  std::span<std::byte> out);

/// Reads what completes bf16 weights to masters, from element range.begin of the unit on.
///   out [end - begin] int16_t
void read_lows(const StateView& view, const plan::Unit& unit, UnitRange range,
               std::span<std::byte> out);

/// master[i] = what weight[i] and low[i] make; all of one length.
void join_masters(std::span<const bf16> weight, std::span<const int16_t> low,
                  std::span<float> master);

/// The reverse of read_state: stores one state from element `begin` of the unit on, of which the
/// view's rank must hold all.
void write_state(const StateView& view, const plan::Unit& unit, StateKind kind, int64_t begin,
                 std::span<const float> values);

/// Where a range of one state of `unit`, all of which the view's rank must hold, rests in memory as
/// read_state tells it and write_state leaves it; none where it is far, or a master that is no
/// fp32 weight.
std::span<float> state_in_memory(const StateView& view, const plan::Unit& unit, StateKind kind,
                                 UnitRange range);

/// As state_in_memory, of weights; none where they are far.
std::span<const std::byte> weights_in_memory(const StateView& view, const plan::Unit& unit,
                                             UnitRange range);
/// Views the low halves of bf16 masters in memory; empty if they are far.
std::span<const std::byte> lows_in_memory(const StateView& view, const plan::Unit& unit,
                                          UnitRange range);

/// Stores fp32 masters as weight and low, of each what this rank holds, from element `begin` of
/// the unit on.
void write_master(const StateView& view, const plan::Unit& unit, int64_t begin,
                  std::span<const float> master);

/// Fills the weights that a run starts from, and what completes them to fp32 masters. Element e of
/// parameter p is deviation * initial_normal(seed, p, e) rounded to fp32, 0 or 1 by its Init; rows
/// that pad the vocabulary and the gaps of a unit stay as they are (zero in a new arena). Each rank
/// fills the shard whose optimizer state it holds; the first gather completes whole weights.
/// The optimizer's states as fill_initial_states() has them. With `threads` threads.
void fill_initial_weights(const StateView& view, uint64_t seed, int threads);

/// Fills the states of the optimizer that begin with another number than zero, as a new arena has
/// it, in what the rank holds of them. Gaps stay as they are.
void fill_initial_states(const StateView& view);

/// Parameter indices in the order of their names.
std::vector<int32_t> parameters_by_name(const graph::Graph& graph);

/// Where a parameter lies, without padding.
struct Located {
  const plan::Unit* unit;
  UnitRange range;
};
Located locate(const plan::Plan& plan, int32_t parameter);

/// Joins one state of one parameter, without padding, on rank 0 from the ranks that hold it, in
/// pieces of at most 4 MiB in the order of its elements: `visit` sees each piece there and nothing
/// elsewhere. Collective: all ranks ask for the same parameters in the same order.
void join_state(const StateView& view, const launch::Peers& peers, StateKind kind,
                int32_t parameter, const std::function<void(std::span<const float>)>& visit);

/// SHA-256 of the state of training as one stream of little-endian fp32: for each parameter in the
/// order of names its master and the optimizer's states, without padding. The same at every stage,
/// rank count and precision that computes the same numbers. One thread of rank 0 hashes, 1 to 2
/// GB/s. Collective; the digest is on rank 0, "" elsewhere.
std::string state_sha256(const StateView& view, const launch::Peers& peers);

/// The same numbers in the same order, hashed by `threads` threads of each rank, as fast as memory
/// or the way from a device gives them. Each parameter's master and states are cut from their first
/// element on into blocks of 4 MiB of fp32, the last of which may be shorter. The digest is
/// XXH3-128 of the blocks' XXH3-128, one after the other; it depends neither on threads nor on
/// ranks, stage or homes. 32 hexadecimal digits on rank 0, "" elsewhere. Collective.
///
/// Where ranks hold copies of one state, they share its blocks out, so that a copy that differs
/// from the others shows.
std::string state_xxh3(const StateView& view, const launch::Peers& peers, int threads);

/// Gives `set` all fp32 master weights of a model while it is trained, on each of the first
/// `holders` ranks: the index of a parameter, the first element of a piece, and its elements
/// without padding. Where there is one holder a piece has at most 4 MiB, else it is the whole
/// parameter. Nothing else may use `peers` meanwhile. Collective.
void join_weights(const StateView& view, const launch::Peers& peers, int holders,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set);

}  // namespace zero::state
