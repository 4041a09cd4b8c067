#include "src/save/checkpoint_payload.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/process.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/device.hpp"
#include "zero/run/executor.hpp"

namespace zero::save {

FrozenDisk::FrozenDisk(const plan::Plan& plan, std::span<const setup::SavedPart> parts)
    : plan_(plan) {
  if (setup::saved_on_disk(plan, parts).empty()) return;
  memory_ = Arena(setup::kFrozenWindowBytes);
  memory_.touch(1);
}

void FrozenDisk::freeze(std::shared_ptr<state::Disk> disk) {
  if (memory_.bytes() == 0) return;
  disk->freeze();
  disk_ = std::move(disk);
  window_.emplace(plan_, run::LaneDisks{.read = &disk_->frozen()},
                  std::span(memory_.data(), size_t(memory_.bytes())));
}

void FrozenDisk::thaw() {
  window_.reset();
  if (disk_) disk_->thaw();
  disk_.reset();
}

state::StateView FrozenDisk::view(int rank, Failed failed) {
  state::StateView view{.plan = &plan_, .rank = rank, .bytes = {}};
  view.read_far = [this, failed = std::move(failed)](int32_t buffer, int64_t offset,
                                                     std::span<std::byte> out) {
    try {
      window_->read(buffer, offset, out);
    } catch (const Error&) {
      failed(std::current_exception());
    }
  };
  return view;
}

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

template <class T>
std::span<const T> elements(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

bool is_beside_host(const plan::Plan& plan, const plan::Unit& unit, setup::SavedPart part) {
  const int32_t buffer = setup::buffer_of(plan, unit, part);
  if (buffer < 0) return false;
  const plan::Tier tier = plan.buffers[size_t(buffer)].tier;
  return tier == plan::Tier::nvme || (tier == plan::Tier::device && drives_devices());
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

/// Takes memory of `place`, or slower memory if the system refuses to pin it.
Arena take(int64_t bytes, Place place, int threads = 1) {
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

}  // namespace

bool PieceReader::is_needed(const plan::Plan& plan, std::span<const setup::SavedPart> parts) {
  return std::ranges::any_of(state::saved_slices(plan, 0, parts),
                             [&](const state::SavedSlice& slice) {
                               return setup::is_split(plan, slice.part) ||
                                      is_beside_host(plan, *slice.held.unit, slice.part);
                             });
}

void PieceReader::take_memory() { memory_ = take(setup::kJoinRoomBytes, place_); }

std::span<std::byte> PieceReader::room(int64_t begin, int64_t bytes) {
  if (!memory_.data()) take_memory();
  ZERO_REQUIRE(begin + bytes <= memory_.bytes(), "a piece of ", bytes, " bytes at ", begin, " in ",
               memory_.bytes());
  return {memory_.data() + begin, size_t(bytes)};
}

std::span<const std::byte> PieceReader::read(const state::StateView& view,
                                             const state::SavedSlice& piece) {
  const std::span<const std::byte> there = state::piece_in_memory(view, piece);
  if (!there.empty()) return there;
  if (setup::is_split(*view.plan, piece.part)) return join(view, piece.held, {}, {});
  const std::span<std::byte> to = room(0, state::bytes_of_piece(*view.plan, piece));
  state::copy_piece(view, piece, to);
  return to;
}

std::span<const std::byte> PieceReader::join(const state::StateView& view,
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

LivePayload::LivePayload(state::StateView view, std::span<const setup::SavedPart> parts,
                         PieceReader& reader)
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
    : memory_(take(setup::saved_copy_bytes(plan, parts), place_of_copies(plan, parts), threads)),
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
