#include "src/train/checkpoint_payload.hpp"

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"

namespace zero::train {
namespace {

/// Of a piece's first byte, so that its numbers lie where floats may.
constexpr int64_t kPlaceBytes = 64;

}  // namespace

LivePayload::LivePayload(StateView view, std::span<const SavedPart> parts)
    : view_(std::move(view)), pieces_(pieces_of(saved_slices(*view_.plan, view_.rank, parts))) {}

std::span<const std::byte> LivePayload::piece(size_t index) {
  return read_piece(view_, pieces_[index], room_);
}

int64_t PayloadCopy::bytes_for(const plan::Plan& plan, std::span<const SavedPart> parts) {
  // Parameters begin at multiples of 64 elements in a unit, so what lies between pieces is counted.
  int64_t bytes = 0;
  for (const plan::Unit& unit : plan.units) {
    for (const SavedPart part : parts) bytes += unit.shard_numel * element_bytes(plan, part);
  }
  return bytes;
}

PayloadCopy::PayloadCopy(const plan::Plan& plan, std::span<const SavedPart> parts)
    : memory_(bytes_for(plan, parts)) {}

void PayloadCopy::copy(const LivePayload& live) {
  places_.clear();
  int64_t used = 0;
  for (size_t i = 0; i < live.pieces(); ++i) {
    const SavedSlice& slice = live.slice(i);
    const int64_t bytes = bytes_of_piece(*live.view().plan, slice);
    ZERO_REQUIRE(used + bytes <= memory_.bytes(), "a copy of ", used + bytes, " bytes in ",
                 memory_.bytes());
    places_.emplace_back(memory_.data() + used, size_t(bytes));
    copy_piece(live.view(), slice, places_.back());
    used = round_up(used + bytes, kPlaceBytes);
  }
}

std::span<const std::byte> PayloadCopy::piece(size_t index) { return places_[index]; }

}  // namespace zero::train
