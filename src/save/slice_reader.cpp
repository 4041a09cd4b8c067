#include "src/save/slice_reader.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/device/device.hpp"

namespace zero::save {
namespace {

bool is_beside_host(const plan::Plan& plan, const plan::Unit& unit, setup::SavedPart part) {
  const int32_t buffer = setup::buffer_of(plan, unit, part);
  if (buffer < 0) return false;
  const plan::Tier tier = plan.buffers[size_t(buffer)].tier;
  return tier == plan::Tier::nvme || (tier == plan::Tier::device && drives_devices());
}

template <class T>
std::span<const T> elements(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace

Arena take_arena(int64_t bytes, Place place, int threads) {
  if (place == Place::pinned) {
    try {
      return Arena(bytes, place, threads);
    } catch (const Error& error) {
      warn("saves copy from the device into memory that is not pinned, which is slower: ",
           error.what());
    }
  }
  return Arena(bytes);
}

bool SliceReader::is_needed(const plan::Plan& plan, std::span<const setup::SavedPart> parts) {
  return std::ranges::any_of(state::saved_slices(plan, 0, parts),
                             [&](const state::SavedSlice& slice) {
                               return setup::is_split(plan, slice.part) ||
                                      is_beside_host(plan, *slice.held.unit, slice.part);
                             });
}

void SliceReader::take_memory() { memory_ = take_arena(setup::kJoinRoomBytes, place_); }

std::span<std::byte> SliceReader::room(int64_t begin, int64_t bytes) {
  if (!memory_.data()) take_memory();
  ZERO_REQUIRE(begin + bytes <= memory_.bytes(), "a piece of ", bytes, " bytes at ", begin, " in ",
               memory_.bytes());
  return {memory_.data() + begin, size_t(bytes)};
}

std::span<const std::byte> SliceReader::read(const state::StateView& view,
                                             const state::SavedSlice& piece) {
  const std::span<const std::byte> there = state::piece_in_memory(view, piece);
  if (!there.empty()) return there;
  if (setup::is_split(*view.plan, piece.part)) return join(view, piece.held, {}, {});
  const std::span<std::byte> to = room(0, state::bytes_of_piece(*view.plan, piece));
  state::copy_piece(view, piece, to);
  return to;
}

std::span<const std::byte> SliceReader::join(const state::StateView& view,
                                             const state::HeldSlice& held,
                                             std::span<const std::byte> weight,
                                             std::span<const std::byte> low) {
  const int64_t half = held.numel() * int64_t(sizeof(bf16)), whole = 2 * half;
  const auto found = [&](std::span<const std::byte> copy, auto in_memory, auto fetch,
                         int64_t begin) {
    if (copy.empty()) copy = in_memory(view, *held.unit, held.range);
    if (!copy.empty()) return copy;
    const std::span<std::byte> to = room(begin, half);
    fetch(view, *held.unit, held.range, to);
    return std::span<const std::byte>(to);
  };
  weight = found(weight, state::weights_in_memory, state::read_weights, whole);
  low = found(low, state::lows_in_memory, state::read_lows, whole + half);
  const std::span<std::byte> joined = room(0, whole);
  state::join_masters(elements<bf16>(weight), elements<int16_t>(low),
                      {reinterpret_cast<float*>(joined.data()), size_t(held.numel())});
  return joined;
}

}  // namespace zero::save
