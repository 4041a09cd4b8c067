#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "src/save/checkpoint_save.hpp"
#include "src/save/frozen_disk.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/watchdog.hpp"

namespace zero::save {

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
