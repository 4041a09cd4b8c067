#pragma once
/// Digests of the states of each unit. Two trainings of one model have the same ones if their
/// states are equal, whatever their ranks, stages, homes and threads.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "zero/state/engine.hpp"
#include "zero/state/state_view.hpp"

namespace zero::state {

/// The form of a digest in words, for files that hold some.
inline constexpr const char* kDigestForm =
    "sum modulo 2^64, over the blocks of 2048 fp32 elements of a unit, of the first 8 bytes of "
    "XXH3-128 of the block's number and its XXH3-128";

/// Returns the elements of a unit whose states a rank digests: its shard, or its share of what all
/// ranks hold, without padding behind the last parameter.
UnitRange own_range(const plan::Unit& unit, int rank, int ranks);

/// Returns the name of a plan's state as digests call it: "weights" of the masters, else the
/// optimizer's.
std::string_view state_name(const plan::Plan& plan, StateKind kind);

/// A digest of each state of each unit of a plan. It is the sum of numbers that the blocks of the
/// state have. Integers add up in any order, and borders of shards are borders of blocks, so each
/// rank adds up its own. The last block ends with the last parameter: the padding behind it, which
/// depends on ranks, counts nothing.
class UnitDigests {
 public:
  struct Row {
    const plan::Unit* unit;
    StateKind kind;
    uint64_t digest;
  };

  /// Takes the memory for digests by `threads` threads. REQUIRES: `plan` outlives the digests.
  UnitDigests(const plan::Plan& plan, int threads);

  /// Adds up the blocks that this rank, one of `ranks`, holds in its view, or its share of those
  /// that all ranks hold.
  void add_own(const StateView& view, int ranks);
  /// Adds up the digests of all ranks, on every rank. Collective.
  void join(const launch::Peers& peers);

  /// Returns the digests, by unit and then by state.
  std::span<const Row> rows() const { return rows_; }

 private:
  /// Memory of one thread.
  struct Room {
    std::vector<float> values;
    std::vector<std::byte> weights, lows;
  };

  std::span<const float> read(const StateView& view, const Row& row, UnitRange range,
                              Room& room) const;
  uint64_t digest_of(const StateView& view, const Row& row, UnitRange own);

  const plan::Plan& plan_;
  std::vector<Row> rows_;
  std::vector<uint64_t> sums_;  ///< one a row
  std::vector<Room> rooms_;     ///< one a thread
};

/// Computes the digests of an engine's state into `digests`, as a rank's disk and watchdog allow.
/// Collective. REQUIRES: no body runs, and all updates are applied.
void take_digests(launch::Session& session, Engine& engine, UnitDigests& digests);

}  // namespace zero::state
