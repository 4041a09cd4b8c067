#pragma once
/// Pinned host memory beside the few buffers in device memory that the host fills before every
/// body, or reads after it, so that neither waits for a copy. Private to this room.

#include <cstddef>
#include <span>
#include <vector>

#include "src/run/bound_op.hpp"
#include "zero/device/arena.hpp"

namespace zero::run {

class HostMail {
 public:
  HostMail() = default;
  /// `plan` outlives it; `memory` is where its buffers lie.
  HostMail(const plan::Plan& plan, const RankMemory& memory);

  /// The host's copy of a buffer's bytes; empty where it has none. What was sent from there before
  /// is done when this returns, so it may be written.
  std::span<std::byte> slot(int32_t buffer, Stream& stream);
  /// Sends a stretch of the host's copy; asynchronous on `stream`, always the same one.
  void send(int32_t buffer, int64_t offset, int64_t bytes, Stream& stream);
  /// All that was sent has arrived.
  void arrived();

  /// Fetches the step state; asynchronous on `stream`.
  void fetch_state(Stream& stream);
  /// What was fetched last; of the step state's bytes.
  std::span<const std::byte> state();

 private:
  struct Slot {
    int32_t buffer;
    int64_t offset;
    std::span<std::byte> there;
    bool in_flight = false;
  };
  void add(const plan::Plan& plan, const RankMemory& memory, int32_t buffer);
  Slot* find(int32_t buffer);
  std::span<std::byte> here(const Slot& slot) const;

  int32_t state_ = -1;
  std::vector<Slot> slots_;
  Arena room_;
};

}  // namespace zero::run
