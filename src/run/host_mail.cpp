#include <algorithm>

#include "src/run/rank_buffers.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/device/copy.hpp"

namespace zero::run {

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
