#pragma once
/// The parts of a plan's state that a checkpoint holds, their buffers, and the bytes of a copy.

#include <cstdint>
#include <span>
#include <vector>

#include "zero/io/tiers/disk_tier.hpp"
#include "zero/plan/plan.hpp"

namespace zero::setup {

/// A part of a parameter in a checkpoint: its weight in the compute type, its fp32 master, or the
/// state of the optimizer with this index.
enum class SavedPart : int { weight = -2, master = -1 };
/// Returns the parts that a plan's checkpoints hold: all, or the weight alone if `weights_only`.
/// The span never expires.
std::span<const SavedPart> saved_parts(const plan::Plan& plan, bool weights_only);
/// True if a checkpoint holds this part of `held`, a parameter or unit. A frozen one has its weight
/// alone, in the compute type, and a borrowed one nothing.
template <class Held>
bool is_saved(const Held& held, SavedPart part) {
  return part == SavedPart::weight ? !held.borrowed : !held.frozen;
}

/// Returns the type of a part's elements in files of a plan's checkpoints.
Dtype dtype_of(const plan::Plan& plan, SavedPart part);
/// Returns the bytes of a part's element in files of a plan's checkpoints.
int64_t element_bytes(const plan::Plan& plan, SavedPart part);

/// Maximum elements of a piece of a tensor, 4 MiB of the widest type.
inline constexpr int64_t kPieceNumel = 1 << 20;

/// Returns the index of the plan's buffer that holds a part of a unit, or completes its weight to
/// it; -1 if there is none.
int32_t buffer_of(const plan::Plan& plan, const plan::Unit& unit, SavedPart part);
/// True if the plan's buffer of this index is on disk; false for -1.
bool is_on_disk(const plan::Plan& plan, int32_t buffer);

/// Returns the extents on a rank's disk of the plan's buffers behind these parts, ascending.
std::vector<tiers::DiskExtent> saved_on_disk(const plan::Plan& plan,
                                             std::span<const SavedPart> parts);

/// True if a copy keeps of this part the low half alone: of a bf16 plan's master, whose weight is
/// copied too.
bool is_split(const plan::Plan& plan, SavedPart part);
/// True if a copy has this part of a plan's unit. Parts on disk stay there.
bool is_copied(const plan::Plan& plan, const plan::Unit& unit, SavedPart part);
/// Returns the bytes of a part's element in a copy of a plan's state.
int64_t copied_bytes(const plan::Plan& plan, SavedPart part);
/// Returns the bytes of a rank's copy, from which checkpoint.async saves: its share of these parts
/// of a plan's state, except those on disk. The copy has parts as files do, but of a bf16 master
/// its low half alone.
int64_t saved_copy_bytes(const plan::Plan& plan, std::span<const SavedPart> parts);
/// Memory for reading from a frozen disk: the bytes that a piece of 4 MiB may touch.
inline constexpr int64_t kFrozenWindowBytes =
    kPieceNumel * int64_t(sizeof(float)) + 2 * tiers::kDiskBlockBytes;
/// Memory for reading or joining a piece, beside the state: a master, its weight and its low bits.
inline constexpr int64_t kJoinRoomBytes = kPieceNumel * 8;

}  // namespace zero::setup
