#include "src/run/rank_buffers.hpp"

#include <algorithm>
#include <utility>

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/device/copy.hpp"

namespace zero::run {
namespace {

/// True if a communicator has several ranks, which reach each other's memory.
bool has_peers(const comm::Communicator* comm) { return comm != nullptr && comm->ranks() > 1; }

Arena take_device_arena(int64_t bytes, const LaneComms& comms) {
  for (const TeamComms& lane : comms) {
    for (const comm::Communicator* const comm : lane.of) {
      if (has_peers(comm)) return comm->take_arena(bytes);
    }
  }
  return Arena(bytes, Place::device);
}

}  // namespace

Place host_place(const plan::Plan& plan) {
  return plan.request.pinned_host ? Place::pinned : Place::host;
}

/// Takes no arena for the disk, whose bytes lie in files.
TierArenas::TierArenas(const plan::Plan& plan, const LaneComms& comms, Arena device)
    : comms_(comms) {
  const int threads = plan.request.threads;
  const bool is_given = device.bytes() > 0;
  ZERO_REQUIRE(!is_given || device.bytes() >= plan.arena_bytes[size_t(plan::Tier::device)],
               device.bytes(), " bytes are given for a plan of more");
  if (is_given) arenas_[size_t(plan::Tier::device)] = std::move(device);
  for (size_t tier = 0; tier < arenas_.size(); ++tier) {
    const int64_t bytes = plan.arena_bytes[tier];
    if (bytes == 0 || plan::Tier(tier) == plan::Tier::nvme) continue;
    if (plan::Tier(tier) == plan::Tier::device && is_given) continue;
    arenas_[tier] = plan::Tier(tier) == plan::Tier::device
                        ? take_device_arena(bytes, comms)
                        : Arena(bytes, host_place(plan), threads);
    arenas_[tier].touch(threads);
  }
}

void TierArenas::open_windows() {
  const Arena& device = of(plan::Tier::device);
  if (device.bytes() == 0) return;
  for (const TeamComms& lane : comms_) {
    for (comm::Communicator* const comm : lane.of) {
      if (has_peers(comm)) windows_.push_back(comm->open_window(device));
    }
  }
}

HostMail::HostMail(const plan::Plan& plan, const RankMemory& memory) : state_(plan.step_state) {
  for (const plan::InputBuffer& input : plan.inputs) add(plan, memory, input.buffer);
  add(plan, memory, plan.step_state);
  if (slots_.empty()) return;
  room_ = Arena(slots_.back().offset + int64_t(slots_.back().there.size()), Place::pinned);
}

void HostMail::add(const plan::Plan& plan, const RankMemory& memory, int32_t buffer) {
  if (buffer < 0 || find(buffer) != nullptr) return;
  const int64_t offset =
      slots_.empty()
          ? 0
          : round_up(slots_.back().offset + int64_t(slots_.back().there.size()), kExtentAlignBytes);
  slots_.push_back({buffer, offset, buffer_bytes(plan, memory, buffer)});
}

HostMail::Slot* HostMail::find(int32_t buffer) {
  const auto found = std::ranges::find(slots_, buffer, &Slot::buffer);
  return found == slots_.end() ? nullptr : &*found;
}

std::span<std::byte> HostMail::here(const Slot& slot) const {
  return {room_.data() + slot.offset, slot.there.size()};
}

std::span<std::byte> HostMail::slot(int32_t buffer, Stream& stream) {
  Slot* const found = buffer == state_ ? nullptr : find(buffer);
  if (found == nullptr) return {};
  if (found->in_flight) stream.wait();
  found->in_flight = false;
  return here(*found);
}

void HostMail::send(int32_t buffer, int64_t offset, int64_t bytes, Stream& stream) {
  Slot* const found = find(buffer);
  ZERO_REQUIRE(found != nullptr, "buffer ", buffer, " has no copy on the host");
  copy_bytes(stream, here(*found).subspan(size_t(offset), size_t(bytes)),
             found->there.subspan(size_t(offset), size_t(bytes)).data());
  found->in_flight = true;
}

void HostMail::arrived() {
  for (Slot& slot : slots_) slot.in_flight = false;
}

void HostMail::fetch_state(Stream& stream) {
  if (Slot* const state = find(state_)) copy_bytes(stream, state->there, here(*state).data());
}

std::span<const std::byte> HostMail::state() {
  Slot* const state = find(state_);
  return state == nullptr ? std::span<const std::byte>{} : here(*state);
}

}  // namespace zero::run
