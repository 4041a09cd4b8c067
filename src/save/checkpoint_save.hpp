#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "src/save/checkpoint_payload.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/watchdog.hpp"
#include "zero/save/checkpointer.hpp"

namespace zero::save {

/// What a save leaves to the next ones of its run, of the same parts.
struct KeptOfSaves {
  std::optional<Arena> staging;                         ///< of kStagingBytes
  std::optional<PieceReader> reader;                    ///< of the state itself
  std::optional<checkpoint::ShardStructure> structure;  ///< of this rank's files
  std::optional<checkpoint::DigestForm> digests;        ///< of all ranks' files
  std::optional<checkpoint::Manifest> described;        ///< on rank 0: without places and files
  std::optional<checkpoint::IndexStructure> index;      ///< on rank 0
  bool has_warned = false;  ///< of a file system that will not have the page cache passed by

  /// Takes the memory that every save of these parts stages bytes in. Throws Error(kDoesNotFit).
  void take_memory(const plan::Plan& plan, std::span<const state::SavedPart> parts);
};

struct SaveOrder {
  checkpoint::Store& store;
  const plan::Plan& plan;
  std::span<const state::SavedPart> parts;
  int64_t step;
  Facts facts;  ///< of the launch and of the state after the step
  checkpoint::Store::Retention retention;
  KeptOfSaves& kept;
};

/// The commit protocol: what is acknowledged, by an empty text, survives a loss of power; then old
/// checkpoints go. Otherwise the text says what failed and on which rank, the same on all of them,
/// and nothing half-written stays. Counts the pieces that are written, so that a save that stands
/// still shows. Collective among `peers`.
std::string save_checkpoint(const SaveOrder& order, const launch::Peers& peers, Payload& payload,
                            std::atomic<int64_t>& pieces);

/// One warning for each of Store::take_warnings().
void warn_of_leftovers(checkpoint::Store& store);

/// Saves beside training: on a thread and over a channel of its own, from a copy of what rests in
/// memory, and from what is on disk as the save found it.
struct Checkpointer::Background {
 public:
  /// Takes the memory of the copy. Throws Ended where a rank has not the memory. Collective.
  Background(launch::Session& session, const plan::Plan& plan,
             std::span<const state::SavedPart> parts);
  /// Waits for a save that is under way.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Copies and freezes the state and begins; none may be under way. A peer that hangs in the save
  /// ends all ranks after the engine's patience. Collective.
  void begin(const LivePayload& live, SaveOrder order, const state::Engine& engine);
  /// Whether the save that was begun is over.
  bool ended() const { return ended_; }
  /// Between bodies: waits until it is and returns what failed; "" if nothing did.
  std::string end();

 private:
  launch::Session& session_;
  launch::Peers peers_;
  std::optional<FrozenDisk> disk_;
  std::optional<PayloadCopy> copy_;
  std::unique_ptr<launch::Watchdog> watchdog_;
  std::atomic<int64_t> pieces_{0};
  std::atomic<bool> ended_{false};
  std::string problem_;
  std::thread thread_;
};

}  // namespace zero::save
