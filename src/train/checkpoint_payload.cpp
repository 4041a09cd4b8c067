#include "src/train/checkpoint_payload.hpp"

#include <atomic>

#include "src/comm/stage_copy.hpp"
#include "src/train/stream_join.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/team.hpp"

namespace zero::train {
namespace {

/// Of a piece's first byte.
constexpr int64_t kPlaceBytes = 64;
/// What is joined and copied at a time: 256 KiB, which stay in the cache of a core.
constexpr int64_t kJoinedNumel = 1 << 16;

}  // namespace

LivePayload::LivePayload(StateView view, std::span<const SavedPart> parts)
    : view_(std::move(view)), pieces_(pieces_of(saved_slices(*view_.plan, view_.rank, parts))) {}

std::span<const std::byte> LivePayload::piece(size_t index) {
  return read_piece(view_, pieces_[index], room_);
}

void LivePayload::append_to(checkpoint::ShardWriter& file, size_t index) {
  const SavedSlice& whole = pieces_[index];
  const std::span<const std::byte> there = piece_in_memory(view_, whole);
  if (!there.empty()) return file.append_resting(there);
  for (const SavedSlice& part : pieces_of({whole}, is_near(whole) ? kJoinedNumel : kPieceNumel)) {
    file.append(read_piece(view_, part, room_));
  }
}

/// Whether all that a piece is made of is in memory. A disk is asked for much at a time.
bool LivePayload::is_near(const SavedSlice& piece) const {
  const plan::Unit& unit = *piece.held.unit;
  return piece.part == SavedPart::master && !view_.is_far(unit.weight) && !view_.is_far(unit.rest);
}

int64_t PayloadCopy::bytes_for(const plan::Plan& plan, std::span<const SavedPart> parts) {
  // Parameters begin at multiples of 64 elements in a unit, so what lies between pieces is counted.
  int64_t bytes = 0;
  for (const plan::Unit& unit : plan.units) {
    for (const SavedPart part : parts) bytes += unit.shard_numel * element_bytes(plan, part);
  }
  return bytes;
}

PayloadCopy::PayloadCopy(const plan::Plan& plan, std::span<const SavedPart> parts, int threads)
    : memory_(bytes_for(plan, parts)), threads_(threads) {
  // Training waits for copies, and not the first one for page faults.
  memory_.touch(threads);
}

void PayloadCopy::copy(const LivePayload& live) {
  places_.clear();
  int64_t used = 0;
  for (size_t i = 0; i < live.pieces(); ++i) {
    const int64_t bytes = bytes_of_piece(*live.view().plan, live.slice(i));
    ZERO_REQUIRE(used + bytes <= memory_.bytes(), "a copy of ", used + bytes, " bytes in ",
                 memory_.bytes());
    places_.emplace_back(memory_.data() + used, size_t(bytes));
    used = round_up(used + bytes, kPlaceBytes);
  }
  std::atomic<size_t> next{0};
  in_team(threads_, [&](int) {
    for (size_t i = next++; i < places_.size(); i = next++) copy(live, i);
  });
}

/// Nobody reads it soon, so that it need not pass through caches.
void PayloadCopy::copy(const LivePayload& live, size_t index) {
  const SavedSlice& slice = live.slice(index);
  const std::span<std::byte> to = places_[index];
  const std::span<const std::byte> from = piece_in_memory(live.view(), slice);
  if (!from.empty()) return comm::stage_copy(to.data(), from.data(), int64_t(from.size()));
  SplitMasters masters;
  if (slice.part == SavedPart::master) {
    masters = split_masters_in_memory(live.view(), *slice.held.unit, slice.held.range);
  }
  if (masters.weight.empty()) return copy_piece(live.view(), slice, to);
  stream_join(masters.weight, masters.rest, reinterpret_cast<float*>(to.data()));
}

std::span<const std::byte> PayloadCopy::piece(size_t index) { return places_[index]; }

void PayloadCopy::append_to(checkpoint::ShardWriter& file, size_t index) {
  file.append_resting(places_[index]);
}

}  // namespace zero::train
