#include "src/train/checkpoint_payload.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "src/comm/stage_copy.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/team.hpp"

namespace zero::train {
namespace {

/// Of a piece's first byte.
constexpr int64_t kPlaceBytes = 64;
/// What is joined and copied at a time: 256 KiB, which stay in the cache of a core.
constexpr int64_t kJoinedNumel = 1 << 16;

/// Copied is only what bf16 masters have beside their weights, which are copied anyway.
bool is_split(const plan::Plan& plan, SavedPart part) {
  return part == SavedPart::master && plan.request.compute == Dtype::bf16;
}

int64_t copied_bytes(const plan::Plan& plan, SavedPart part) {
  return is_split(plan, part) ? int64_t(sizeof(int16_t)) : element_bytes(plan, part);
}

std::span<const std::byte> copied_in_memory(const StateView& view, const SavedSlice& piece) {
  if (!is_split(*view.plan, piece.part)) return piece_in_memory(view, piece);
  return rests_in_memory(view, *piece.held.unit, piece.held.range);
}

void read_copied(const StateView& view, const SavedSlice& piece, std::span<std::byte> out) {
  if (!is_split(*view.plan, piece.part)) return copy_piece(view, piece, out);
  read_rests(view, *piece.held.unit, piece.held.range, out);
}

template <class T>
std::span<const T> elements(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

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
    for (const SavedPart part : parts) bytes += unit.shard_numel * copied_bytes(plan, part);
  }
  return bytes;
}

PayloadCopy::PayloadCopy(const plan::Plan& plan, std::span<const SavedPart> parts, int threads)
    : memory_(bytes_for(plan, parts)), threads_(threads) {
  // Training waits for copies, and not the first one for page faults.
  memory_.touch(threads);
}

void PayloadCopy::copy(const LivePayload& live) {
  lay_out(live);
  std::atomic<size_t> next{0};
  in_team(threads_, [&](int) {
    for (size_t i = next++; i < places_.size(); i = next++) copy(live, i);
  });
}

void PayloadCopy::lay_out(const LivePayload& live) {
  const plan::Plan& plan = *live.view().plan;
  places_.clear();
  // Of the weights, which come ahead of their masters and in the same pieces.
  std::map<std::pair<const plan::Unit*, int64_t>, std::span<const std::byte>> weights;
  int64_t used = 0;
  for (size_t i = 0; i < live.pieces(); ++i) {
    const auto& [held, part] = live.slice(i);
    const int64_t bytes = held.numel() * copied_bytes(plan, part);
    ZERO_REQUIRE(used + bytes <= memory_.bytes(), "a copy of ", used + bytes, " bytes in ",
                 memory_.bytes());
    Place place{.bytes = {memory_.data() + used, size_t(bytes)}, .weight = {}};
    const std::pair key(held.unit, held.range.begin);
    if (part == SavedPart::weight) weights[key] = place.bytes;
    if (is_split(plan, part)) place.weight = weights.at(key);
    places_.push_back(place);
    used = round_up(used + bytes, kPlaceBytes);
  }
}

/// Nobody reads it soon, so that it need not pass through caches.
void PayloadCopy::copy(const LivePayload& live, size_t index) {
  const std::span<const std::byte> from = copied_in_memory(live.view(), live.slice(index));
  const std::span<std::byte> to = places_[index].bytes;
  if (from.empty()) return read_copied(live.view(), live.slice(index), to);
  comm::stage_copy(to.data(), from.data(), int64_t(from.size()));
}

std::span<const std::byte> PayloadCopy::piece(size_t index) {
  const Place& place = places_[index];
  if (place.weight.empty()) return place.bytes;
  return joined(place, 0, place.numel());
}

void PayloadCopy::append_to(checkpoint::ShardWriter& file, size_t index) {
  const Place& place = places_[index];
  if (place.weight.empty()) return file.append_resting(place.bytes);
  for (size_t first = 0; first < place.numel(); first += kJoinedNumel) {
    file.append(joined(place, first, std::min<size_t>(kJoinedNumel, place.numel() - first)));
  }
}

std::span<const std::byte> PayloadCopy::joined(const Place& place, size_t first, size_t numel) {
  room_.resize(numel);
  join_masters(elements<bf16>(place.weight).subspan(first, numel),
               elements<int16_t>(place.bytes).subspan(first, numel), room_);
  return std::as_bytes(std::span(room_));
}

}  // namespace zero::train
