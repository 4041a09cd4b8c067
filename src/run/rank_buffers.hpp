#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "src/run/bound_op.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"
#include "zero/run/disk_window.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {

// The memory of a rank's tiers, for its lanes and collectives.

/// The arenas of a plan's tiers in memory, each of exactly the plan's bytes and with every page
/// touched. The device's has the kind that the communicators ask for.
class TierArenas {
 public:
  /// Takes the arenas. Takes `device`, unless empty, as the device's, with its content. Not
  /// collective. Throws Error(kDoesNotFit). REQUIRES: `comms` outlive the object.
  TierArenas(const plan::Plan& plan, const LaneComms& comms, Arena device = {});

  /// Gives the device's arena to every communicator. Collective. REQUIRES: all ranks have their
  /// arenas.
  void open_windows();

  const Arena& of(plan::Tier tier) const { return arenas_[size_t(tier)]; }

 private:
  LaneComms comms_;
  std::array<Arena, plan::kTiers> arenas_;
  std::vector<std::unique_ptr<comm::Window>> windows_;  // destroyed before the arenas
};

/// A copy in pinned host memory of some device buffers. The host fills them before every body or
/// reads them after it, and waits for no copy.
class HostMail {
 public:
  HostMail() = default;
  /// REQUIRES: `plan` outlives the object; `memory` holds its buffers.
  HostMail(const plan::Plan& plan, const RankMemory& memory);

  /// Returns the host's copy of a buffer, free to be written, because earlier sends from it are
  /// done. Empty if there is none.
  std::span<std::byte> slot(int32_t buffer, Stream& stream);
  /// Sends a stretch of the host's copy. Asynchronous on `stream`. REQUIRES: always one stream.
  void send(int32_t buffer, int64_t offset, int64_t bytes, Stream& stream);
  /// Notes that all sent bytes have arrived.
  void arrived();

  /// Fetches the step state. Asynchronous on `stream`.
  void fetch_state(Stream& stream);
  /// Returns the step state's bytes as last fetched.
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

/// The memory and the disk of one executor, as its bodies use them.
class RankBuffers final : public Buffers {
 public:
  /// Takes the arenas, as TierArenas does. Throws Error(kDoesNotFit). REQUIRES: `plan`, `comms` and
  /// `disks` outlive the object.
  RankBuffers(const plan::Plan& plan, int rank, const LaneComms& comms, const LaneDisks& disks,
              Arena device = {})
      : plan_(plan), arenas_(plan, comms, std::move(device)), host_stream_(1) {
    memory_.rank = rank;
    for (int tier = 0; tier < plan::kTiers; ++tier) {
      memory_.base[size_t(tier)] = arena(plan::Tier(tier)).data();
    }
    if (plan.arena_bytes[size_t(plan::Tier::nvme)] > 0) open_window(disks);
    if (has_mail()) mail_ = HostMail(plan, memory_);
  }

  bool on_host(int32_t buffer) const override {
    return !is_on_disk(buffer) && arena(plan_.buffers[size_t(buffer)].tier).on_host();
  }

  std::span<std::byte> bytes(int32_t buffer) override {
    ZERO_REQUIRE(is_on_disk(buffer) || on_host(buffer), "buffer ",
                 plan_.buffers.at(size_t(buffer)).name, " lies in device memory");
    return present_bytes(buffer);
  }
  const Arena& arena(plan::Tier tier) const override { return arenas_.of(tier); }

  void read(int32_t buffer, int64_t offset, std::span<std::byte> out) override {
    if (is_on_disk(buffer)) return window_->read(buffer, offset, out);
    const bool is_up = state_is_up_ && buffer == plan_.step_state;
    const std::span<const std::byte> from = is_up ? mail_.state() : present_bytes(buffer);
    copy(from.subspan(size_t(offset), out.size()), out.data(), is_up || on_host(buffer));
  }

  void write(int32_t buffer, int64_t offset, std::span<const std::byte> in) override {
    if (is_on_disk(buffer)) {
      copies_are_true = false;
      return window_->write(buffer, offset, in);
    }
    if (buffer == plan_.step_state) state_is_up_ = false;
    const std::span<std::byte> to = present_bytes(buffer);
    copy(in, to.subspan(size_t(offset), in.size()).data(), on_host(buffer));
  }

  void open_windows() { arenas_.open_windows(); }
  const RankMemory& memory() const { return memory_; }
  DiskWindow* disk() { return window_ ? &*window_ : nullptr; }
  /// Returns the stream with the host's sends for the next body.
  Stream& host_stream() { return host_stream_; }
  /// True if there is device memory that the host may not touch.
  bool has_mail() const { return !arena(plan::Tier::device).on_host(); }
  /// Fetches the step state at the end of a body. Asynchronous on `stream`.
  void fetch_state(Stream& stream) { mail_.fetch_state(stream); }
  /// Notes the end of a body: all sent and fetched bytes have arrived.
  void settle() {
    mail_.arrived();
    state_is_up_ = has_mail();
  }

  /// False after write(), true after every body: copies of bytes on disk are current.
  std::atomic<bool> copies_are_true{false};

 private:
  bool is_on_disk(int32_t buffer) const {
    return plan_.buffers.at(size_t(buffer)).tier == plan::Tier::nvme;
  }

  /// Returns the bytes that a buffer names between bodies.
  std::span<std::byte> present_bytes(int32_t buffer) const {
    return buffer_bytes(plan_, memory_, present_buffer(plan_, memory_, buffer));
  }

  void open_window(const LaneDisks& disks) {
    ZERO_REQUIRE(disks.read != nullptr && disks.write != nullptr && plan_.disk_window >= 0,
                 "a plan with ", plan_.arena_bytes[size_t(plan::Tier::nvme)],
                 " bytes on disk needs one");
    window_.emplace(plan_, disks, bytes(plan_.disk_window));
  }

  /// Copies between bodies. Threads take turns to and from a device.
  void copy(std::span<const std::byte> from, std::byte* to, bool within_host) {
    if (within_host) return void(std::copy(from.begin(), from.end(), to));
    const std::lock_guard lock(copying_);
    copy_bytes(host_stream_, from, to);
    host_stream_.wait();
  }

  void fill_bytes(int32_t buffer, int64_t size,
                  const std::function<void(std::span<std::byte>)>& fill_all) override {
    if (on_host(buffer)) return fill_all(bytes(buffer).first(size_t(size)));
    std::unique_lock lock(copying_);
    const std::span<std::byte> slot = mail_.slot(buffer, host_stream_);
    lock.unlock();
    if (slot.empty()) {
      std::vector<std::byte> room(static_cast<size_t>(size));
      fill_all(room);
      return write(buffer, 0, room);
    }
    fill_all(slot.first(size_t(size)));
    lock.lock();
    mail_.send(buffer, 0, size, host_stream_);
  }

  const plan::Plan& plan_;
  TierArenas arenas_;
  Stream host_stream_;
  HostMail mail_;
  bool state_is_up_ = false;  ///< the mail equals the device's step state
  std::mutex copying_;
  RankMemory memory_;
  std::optional<DiskWindow> window_;  ///< empty if the plan keeps nothing on disk
};

}  // namespace zero::run
