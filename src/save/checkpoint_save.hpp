#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "src/save/checkpoint_payload.hpp"
#include "src/save/frozen_disk.hpp"
#include "src/save/slice_reader.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/watchdog.hpp"
#include "zero/save/checkpointer.hpp"

namespace zero::save {

/// The objects that a save leaves to later saves of the same parts in a run.
struct KeptOfSaves {
  std::optional<Arena> staging;                         ///< kStagingBytes
  std::optional<SliceReader> reader;                    ///< reads the state itself
  std::optional<checkpoint::ShardStructure> structure;  ///< for this rank's files
  std::optional<checkpoint::DigestForm> digests;        ///< for all ranks' files
  std::optional<checkpoint::Manifest> described;        ///< on rank 0: without places and files
  std::optional<checkpoint::IndexStructure> index;      ///< on rank 0
  bool has_warned = false;  ///< a file system refused to bypass the page cache

  /// Takes the memory in which every save of these parts stages bytes. Throws Error(kDoesNotFit).
  void take_memory(const plan::Plan& plan, std::span<const setup::SavedPart> parts);
};

struct SaveOrder {
  checkpoint::Store& store;
  const plan::Plan& plan;
  std::span<const setup::SavedPart> parts;
  int64_t step;
  Facts facts;  ///< facts of the launch and of the state after the step
  checkpoint::Store::Retention retention;
  KeptOfSaves& kept;
};

/// Runs the commit protocol. Returns no fault for a checkpoint that survives a loss of power; then
/// old checkpoints go. Otherwise returns the fault and its rank, on all ranks, and leaves nothing
/// half-written. Counts the written pieces, to show a save that stands still. Collective among
/// `peers`.
SaveFault save_checkpoint(const SaveOrder& order, const launch::Peers& peers, Payload& payload,
                          std::atomic<int64_t>& pieces);

/// Warns of each of Store::take_warnings().
void warn_of_leftovers(checkpoint::Store& store);

/// A save beside training, on a thread and a channel of its own. It reads a copy of the state in
/// memory, and the disk as it was at the beginning.
struct Checkpointer::Background {
 public:
  /// Takes the memory of the copy. Throws Ended if a rank lacks the memory. Collective.
  Background(launch::Session& session, const plan::Plan& plan,
             std::span<const setup::SavedPart> parts);
  /// Waits for a save that is under way.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Copies and freezes the state and begins a save. A peer that hangs in it ends all ranks after
  /// the engine's patience. Collective. REQUIRES: no save is under way.
  void begin(const LivePayload& live, SaveOrder order, const state::Engine& engine);
  /// True if the save is over.
  bool ended() const { return ended_; }
  /// Waits for the save and returns its fault, if any. REQUIRES: no body runs.
  SaveFault end();

 private:
  launch::Session& session_;
  launch::Peers peers_;
  std::optional<FrozenDisk> disk_;
  std::optional<PayloadCopy> copy_;
  std::unique_ptr<launch::Watchdog> watchdog_;
  std::atomic<int64_t> pieces_{0};
  std::atomic<bool> ended_{false};
  SaveFault fault_;
  std::thread thread_;
};

}  // namespace zero::save
