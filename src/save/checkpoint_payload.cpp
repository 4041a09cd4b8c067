#include "src/save/checkpoint_payload.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "src/save/frozen_disk.hpp"
#include "src/save/slice_reader.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/team.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/device.hpp"
#include "zero/run/executor.hpp"

namespace zero::save {
namespace {

/// Alignment of slices in bytes.
constexpr int64_t kSliceAlignment = 64;
/// Elements to join and copy at a time: 256 KiB, which stay in the cache of a core.
constexpr int64_t kJoinedNumel = 1 << 16;

std::span<const std::byte> copied_in_memory(const state::StateView& view,
                                            const state::SavedSlice& piece) {
  if (!setup::is_split(*view.plan, piece.part)) return state::piece_in_memory(view, piece);
  return state::lows_in_memory(view, *piece.held.unit, piece.held.range);
}

void read_copied(const state::StateView& view, const state::SavedSlice& piece,
                 std::span<std::byte> out) {
  if (!setup::is_split(*view.plan, piece.part)) return state::copy_piece(view, piece, out);
  state::read_lows(view, *piece.held.unit, piece.held.range, out);
}

/// Returns pinned for copies from a device, which are some four times as fast.
Place place_of_copies(const plan::Plan& plan, std::span<const setup::SavedPart> parts) {
  const auto is_from_device = [&](const plan::Unit& unit, setup::SavedPart part) {
    if (!setup::is_copied(plan, unit, part)) return false;
    const int32_t buffer = setup::buffer_of(plan, unit, part);
    return plan.buffers[size_t(buffer)].tier == plan::Tier::device;
  };
  for (const plan::Unit& unit : plan.units) {
    for (const setup::SavedPart part : parts) {
      if (is_from_device(unit, part)) return run::host_place(plan);
    }
  }
  return Place::host;
}

}  // namespace

LivePayload::LivePayload(state::StateView view, std::span<const setup::SavedPart> parts,
                         SliceReader& reader)
    : view_(std::move(view)),
      pieces_(state::pieces_of(state::saved_slices(*view_.plan, view_.rank, parts))),
      reader_(reader) {}

int64_t LivePayload::numel() const {
  int64_t numel = 0;
  for (const state::SavedSlice& piece : pieces_) numel += piece.held.numel();
  return numel;
}

std::span<const std::byte> LivePayload::piece(size_t index) {
  return reader_.read(view_, pieces_[index]);
}

void LivePayload::append_to(checkpoint::ShardWriter& file, size_t index) {
  const state::SavedSlice& whole = pieces_[index];
  const std::span<const std::byte> there = state::piece_in_memory(view_, whole);
  if (!there.empty()) return file.append_resting(there);
  for (const state::SavedSlice& part :
       state::pieces_of({whole}, is_near(whole) ? kJoinedNumel : setup::kPieceNumel)) {
    file.append(reader_.read(view_, part));
  }
}

/// True if all sources of a piece are in memory. Disks want larger reads.
bool LivePayload::is_near(const state::SavedSlice& piece) const {
  const plan::Unit& unit = *piece.held.unit;
  return piece.part == setup::SavedPart::master && !view_.is_far(unit.weight) &&
         !view_.is_far(unit.low);
}

PayloadCopy::PayloadCopy(const plan::Plan& plan, std::span<const setup::SavedPart> parts,
                         int threads)
    : memory_(
          take_arena(setup::saved_copy_bytes(plan, parts), place_of_copies(plan, parts), threads)),
      threads_(threads) {
  // Training waits for copies, so the first one must not wait for page faults.
  memory_.touch(threads);
  if (!setup::saved_on_disk(plan, parts).empty()) reader_.take_memory();
}

void PayloadCopy::copy(const LivePayload& live, state::StateView frozen) {
  frozen_ = std::move(frozen);
  lay_out(live);
  std::atomic<size_t> next{0};
  in_team(threads_, [&](int) {
    for (size_t i = next++; i < kept_.size(); i = next++) copy(live, i);
  });
}

int64_t PayloadCopy::numel() const {
  int64_t numel = 0;
  for (const KeptSlice& kept : kept_) numel += kept.slice.held.numel();
  return numel;
}

void PayloadCopy::lay_out(const LivePayload& live) {
  const plan::Plan& plan = *live.view().plan;
  kept_.clear();
  // The copies of the weights, which come ahead of their masters and in the same pieces.
  std::map<std::pair<const plan::Unit*, int64_t>, std::span<const std::byte>> weights;
  int64_t used = 0;
  for (size_t i = 0; i < live.pieces(); ++i) {
    const auto& [held, part] = live.slice(i);
    const bool copied = setup::is_copied(plan, *held.unit, part);
    const int64_t bytes = copied ? held.numel() * setup::copied_bytes(plan, part) : 0;
    ZERO_REQUIRE(used + bytes <= memory_.bytes(), "a copy of ", used + bytes, " bytes in ",
                 memory_.bytes());
    KeptSlice kept{.slice = live.slice(i),
                   .bytes = {memory_.data() + used, size_t(bytes)},
                   .weight = {},
                   .is_split = setup::is_split(plan, part)};
    const std::pair key(held.unit, held.range.begin);
    if (part == setup::SavedPart::weight) weights[key] = kept.bytes;
    if (kept.is_split) kept.weight = weights.at(key);
    kept_.push_back(kept);
    used = round_up(used + bytes, kSliceAlignment);
  }
}

/// Copies a piece past the caches, because nobody reads it soon.
void PayloadCopy::copy(const LivePayload& live, size_t index) {
  const std::span<std::byte> to = kept_[index].bytes;
  if (to.empty()) return;
  const std::span<const std::byte> from = copied_in_memory(live.view(), live.slice(index));
  if (from.empty()) return read_copied(live.view(), live.slice(index), to);
  stage_copy(to.data(), from.data(), int64_t(from.size()));
}

std::span<const std::byte> PayloadCopy::piece(size_t index) {
  const KeptSlice& kept = kept_[index];
  return kept.is_split ? joined(kept, 0, kept.slice.held.numel()) : whole(kept);
}

std::span<const std::byte> PayloadCopy::whole(const KeptSlice& kept) {
  return kept.bytes.empty() ? reader_.read(frozen_, kept.slice) : kept.bytes;
}

void PayloadCopy::append_to(checkpoint::ShardWriter& file, size_t index) {
  const KeptSlice& kept = kept_[index];
  if (!kept.is_split) {
    return kept.bytes.empty() ? file.append(whole(kept)) : file.append_resting(kept.bytes);
  }
  // Disks want larger reads.
  const bool is_near = !kept.bytes.empty() && !kept.weight.empty();
  const int64_t numel = kept.slice.held.numel(), most = is_near ? kJoinedNumel : setup::kPieceNumel;
  for (int64_t first = 0; first < numel; first += most) {
    file.append(joined(kept, first, std::min(most, numel - first)));
  }
}

std::span<const std::byte> PayloadCopy::joined(const KeptSlice& kept, int64_t first,
                                               int64_t numel) {
  const auto part_of = [&](std::span<const std::byte> copy) {
    constexpr int64_t kHalfBytes = sizeof(bf16);
    return copy.empty() ? copy
                        : copy.subspan(size_t(first * kHalfBytes), size_t(numel * kHalfBytes));
  };
  state::HeldSlice part = kept.slice.held;
  part.range = {part.range.begin + first, part.range.begin + first + numel};
  return reader_.join(frozen_, part, part_of(kept.weight), part_of(kept.bytes));
}

}  // namespace zero::save
