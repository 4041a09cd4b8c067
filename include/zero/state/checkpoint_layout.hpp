#pragma once
/// The elements of tensors that a rank writes into its file, and their place in its memory.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"
#include "zero/io/tiers/disk_tier.hpp"
#include "zero/state/state_view.hpp"

namespace zero::checkpoint {
struct SlicePlan;
}

namespace zero::state {

/// A part of a parameter in a checkpoint: its weight in the compute type, its fp32 master, or the
/// state of the optimizer with this index.
enum class SavedPart : int { weight = -2, master = -1 };
/// Returns all parts of a plan, or the first if checkpoint.weights_only. The span never expires.
std::span<const SavedPart> saved_parts(const plan::Plan& plan, bool weights_only);
/// True if a checkpoint holds this part of a parameter. A frozen parameter has its weight alone, in
/// the compute type.
bool is_saved(bool frozen, SavedPart part);
/// Returns the state kind of a part. REQUIRES: the part is not the weight.
StateKind kind_of(SavedPart part);

/// A range of elements of one parameter that one rank holds.
struct HeldSlice {
  const plan::Unit* unit;
  int32_t parameter;
  UnitRange range;  ///< elements of the unit
  int64_t begin;    ///< index in the parameter of the first element

  int64_t numel() const { return range.end - range.begin; }
};

/// Returns the slices that `rank` writes: its shard of every unit, at every stage, so each element
/// is written once and ranks share the work. Without padding; at most one slice a parameter.
std::vector<HeldSlice> slices_to_save(const plan::Plan& plan, int rank);

/// Returns the slices that `rank` must read: those whose optimizer state it holds, and frozen
/// weights that it holds. The first gather completes whole weights at stages 1 and 2.
std::vector<HeldSlice> slices_to_load(const plan::Plan& plan, int rank);

/// Returns a parameter's extents without the rows that pad the vocabulary.
std::vector<int64_t> stored_shape(const graph::Graph& graph, int32_t parameter);

/// Returns a part's tensor, "optimizer/momentum/transformer.wte.weight", with its extents.
checkpoint::Tensor saved_tensor(const plan::Plan& plan, int32_t parameter, SavedPart part);

/// A dataset of a rank's file.
struct SavedSlice {
  HeldSlice held;
  SavedPart part;
};
/// Returns the slices of these parts in the order of the file.
std::vector<SavedSlice> saved_slices(const plan::Plan& plan, int rank,
                                     std::span<const SavedPart> parts);
/// Returns the slices of masters and states, and of frozen units' weights.
std::vector<SavedSlice> loaded_slices(const plan::Plan& plan, int rank);
std::vector<checkpoint::SlicePlan> slice_plans(const plan::Plan& plan, int rank,
                                               std::span<const SavedPart> parts);

/// Maximum elements of a piece, 4 MiB of the widest type. pieces_of() keeps the slices' order.
inline constexpr int64_t kPieceNumel = 1 << 20;
std::vector<SavedSlice> pieces_of(const std::vector<SavedSlice>& slices,
                                  int64_t numel = kPieceNumel);

/// Returns the bytes of an element of a part in the file.
int64_t element_bytes(const plan::Plan& plan, SavedPart part);
/// Returns the bytes of a piece in the file.
int64_t bytes_of_piece(const plan::Plan& plan, const SavedSlice& piece);

/// Returns the buffer that holds a part, or completes its weight to it; -1 if there is none.
int32_t buffer_of(const plan::Plan& plan, const plan::Unit& unit, SavedPart part);
bool is_on_disk(const plan::Plan& plan, int32_t buffer);

/// Returns the extents on a rank's disk of the buffers behind these parts, ascending.
std::vector<tiers::DiskExtent> saved_on_disk(const plan::Plan& plan,
                                             std::span<const SavedPart> parts);

/// True if a copy keeps the low half of a bf16 master alone, because the weight is copied too.
bool is_split(const plan::Plan& plan, SavedPart part);
/// True if a copy has this part of a unit. Parts on disk stay there.
bool is_copied(const plan::Plan& plan, const plan::Unit& unit, SavedPart part);
/// Returns the bytes of an element of a part in a copy.
int64_t copied_bytes(const plan::Plan& plan, SavedPart part);
/// Returns the bytes of a rank's copy, from which checkpoint.async saves: the rank's share of these
/// parts, except those on disk. The copy has parts as files do, but of a bf16 master its low half
/// alone.
int64_t saved_copy_bytes(const plan::Plan& plan, std::span<const SavedPart> parts);
/// Memory for reading from a frozen disk: the bytes that a piece of 4 MiB may touch.
inline constexpr int64_t kFrozenWindowBytes =
    kPieceNumel * int64_t(sizeof(float)) + 2 * tiers::kDiskBlockBytes;
/// Memory for reading or joining a piece, beside the state: a master, its weight and its low bits.
inline constexpr int64_t kJoinRoomBytes = kPieceNumel * 8;

/// Returns the view's memory of a piece in a file's form; none if it must be made or read.
std::span<const std::byte> piece_in_memory(const StateView& view, const SavedSlice& piece);

/// Copies a piece. REQUIRES: `out` has the piece's bytes and is aligned for floats.
void copy_piece(const StateView& view, const SavedSlice& piece, std::span<std::byte> out);

/// Adds all tensors of a plan. Returns the index of each parameter's first tensor. REQUIRES:
/// `parts` begins as saved_parts().
std::vector<int32_t> describe_tensors(const plan::Plan& plan, std::span<const SavedPart> parts,
                                      checkpoint::Manifest& manifest);

/// Adds all tensors of a plan and the slices of `ranks` ranks, without places. Rank r's file is
/// number r. REQUIRES: `parts` begins as saved_parts().
void describe_slices(const plan::Plan& plan, int ranks, std::span<const SavedPart> parts,
                     checkpoint::Manifest& manifest);

/// Checks before training that a manifest of this plan and these facts can be read. Throws
/// Error(kUsage), with the numbers and a setting that works, if it is too long.
void require_readable_manifest(const plan::Plan& plan, bool weights_only,
                               const std::map<std::string, std::string>& facts);

/// Throws Error(kInput) if the checkpoint lacks a tensor that this plan loads, or has it with other
/// extents. The text names `folder` and the tensor.
void require_loadable(const plan::Plan& plan, const checkpoint::Manifest& manifest,
                      const std::string& folder);

/// Returns the reason that a run with this plan cannot continue a checkpoint's states: its
/// optimizer keeps others, or updates them otherwise. Returns "" if it can.
std::string other_optimizer(const plan::Plan& plan, const checkpoint::Manifest& manifest);

/// Returns the reason that a run with this plan cannot continue a checkpoint: a parameter is frozen
/// in one of them alone, and would lack or lose its states. Returns "" if it can.
std::string other_freeze(const plan::Plan& plan, const checkpoint::Manifest& manifest);

/// Sets the places of described slices. `offsets` [ranks][slices of the rank] are their first bytes
/// in the rank's file, from ShardWriter.
void place_slices(const std::vector<std::vector<int64_t>>& offsets, checkpoint::Manifest& manifest);

}  // namespace zero::state
