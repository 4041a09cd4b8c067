#pragma once
/// Which elements of which tensors a rank writes into its file, and where they lie in its memory.

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

/// What a checkpoint holds of a parameter: its weight in the compute type, its fp32 master, and
/// each state of the optimizer, whose part is its place in the list.
enum class SavedPart : int { weight = -2, master = -1 };
/// All of a plan, or the first of checkpoint.weights_only; valid for good.
std::span<const SavedPart> saved_parts(const plan::Plan& plan, bool weights_only);
/// Whether a checkpoint holds this part of what is frozen or not: of a frozen parameter, which
/// rests in the compute type alone, the weight.
bool is_saved(bool frozen, SavedPart part);
/// The state kind of a part other than the weight.
StateKind kind_of(SavedPart part);

/// Neighbouring elements of one parameter that one rank holds.
struct HeldSlice {
  const plan::Unit* unit;
  int32_t parameter;
  UnitRange range;  ///< in the unit
  int64_t begin;    ///< of its first element in the parameter

  int64_t numel() const { return range.end - range.begin; }
};

/// The slices that `rank` writes: its shard of every unit at every stage, so that each element is
/// written once and ranks share the work. Without padding; at most one slice a parameter.
std::vector<HeldSlice> slices_to_save(const plan::Plan& plan, int rank);

/// The slices that `rank` must read: all whose optimizer state it holds, and of frozen units the
/// weights that it holds. Whole weights at stages 1 and 2 are completed by the first gather.
std::vector<HeldSlice> slices_to_load(const plan::Plan& plan, int rank);

/// A parameter's extents, without the rows that pad the vocabulary.
std::vector<int64_t> stored_shape(const graph::Graph& graph, int32_t parameter);

/// "optimizer/momentum/transformer.wte.weight", with its extents.
checkpoint::Tensor saved_tensor(const plan::Plan& plan, int32_t parameter, SavedPart part);

/// One dataset of a rank's file.
struct SavedSlice {
  HeldSlice held;
  SavedPart part;
};
/// In the order of the file.
std::vector<SavedSlice> saved_slices(const plan::Plan& plan, int rank,
                                     std::span<const SavedPart> parts);
/// Masters and states, of frozen units weights.
std::vector<SavedSlice> loaded_slices(const plan::Plan& plan, int rank);
std::vector<checkpoint::SlicePlan> slice_plans(const plan::Plan& plan, int rank,
                                               std::span<const SavedPart> parts);

/// The slices cut to at most so many elements, 4 MiB of the widest, in the same order.
inline constexpr int64_t kPieceNumel = 1 << 20;
std::vector<SavedSlice> pieces_of(const std::vector<SavedSlice>& slices,
                                  int64_t numel = kPieceNumel);

/// Bytes of one element of a part in the file.
int64_t element_bytes(const plan::Plan& plan, SavedPart part);
/// Bytes of a piece in the file.
int64_t bytes_of_piece(const plan::Plan& plan, const SavedSlice& piece);

/// The buffer that a part of a unit is made of beside its weight, or is; -1 where there is none.
int32_t buffer_of(const plan::Plan& plan, const plan::Unit& unit, SavedPart part);
bool is_on_disk(const plan::Plan& plan, int32_t buffer);

/// Where buffers that these parts are read from rest on a rank's disk, in ascending order.
std::vector<tiers::DiskExtent> saved_on_disk(const plan::Plan& plan,
                                             std::span<const SavedPart> parts);

/// Whether a copy keeps only the low half of a bf16 master, because the weight is copied too.
bool is_split(const plan::Plan& plan, SavedPart part);
/// Whether a copy has this part of a unit: what rests on disk stays there.
bool is_copied(const plan::Plan& plan, const plan::Unit& unit, SavedPart part);
/// Bytes of one element of a part in a copy.
int64_t copied_bytes(const plan::Plan& plan, SavedPart part);
/// The memory of the copies that checkpoint.async saves from: a rank's share of those of these
/// parts that are not on disk, as files hold them but for bf16 masters, of which it has what is
/// beside their weights.
int64_t saved_copy_bytes(const plan::Plan& plan, std::span<const SavedPart> parts);
/// Memory that bytes come through from a disk that is frozen: what a piece of 4 MiB may touch.
inline constexpr int64_t kFrozenWindowBytes =
    kPieceNumel * int64_t(sizeof(float)) + 2 * tiers::kDiskBlockBytes;
/// What a piece is read or joined in takes beside the state: a master, its weight and its low bits.
inline constexpr int64_t kJoinRoomBytes = kPieceNumel * 8;

/// A piece where the view has it, as a file holds it; none where it has to be made or read.
std::span<const std::byte> piece_in_memory(const StateView& view, const SavedSlice& piece);

/// Copies a piece. `out` has its bytes and is aligned for floats.
void copy_piece(const StateView& view, const SavedSlice& piece, std::span<std::byte> out);

/// All tensors of a plan. `parts` begins as saved_parts(). Returns the place of each parameter's
/// first one.
std::vector<int32_t> describe_tensors(const plan::Plan& plan, std::span<const SavedPart> parts,
                                      checkpoint::Manifest& manifest);

/// All tensors of a plan and what each of so many ranks writes of them, without its place; rank r's
/// file is number r. `parts` begins as saved_parts().
void describe_slices(const plan::Plan& plan, int ranks, std::span<const SavedPart> parts,
                     checkpoint::Manifest& manifest);

/// Refuses before training what no program would read: a manifest of such saves and about such
/// facts that is too long. Throws Error(kUsage) with the numbers and what works.
void require_readable_manifest(const plan::Plan& plan, bool weights_only,
                               const std::map<std::string, std::string>& facts);

/// Requires that a checkpoint has the tensors that this plan loads. Throws Error(kInput) naming
/// `folder` and the first that it lacks or has with other extents.
void require_loadable(const plan::Plan& plan, const checkpoint::Manifest& manifest,
                      const std::string& folder);

/// Why a run with this plan cannot go on with the states of a checkpoint: an optimizer made them
/// that keeps others, or that updates them otherwise. "" where it can.
std::string other_optimizer(const plan::Plan& plan, const checkpoint::Manifest& manifest);

/// Why a run with this plan cannot go on with a checkpoint: a parameter is frozen in one of them
/// alone, and would lack its states or lose them. "" where it can.
std::string other_freeze(const plan::Plan& plan, const checkpoint::Manifest& manifest);

/// The places of what was described. `offsets` [ranks][slices of the rank]: of their first bytes in
/// its file, as ShardWriter tells.
void place_slices(const std::vector<std::vector<int64_t>>& offsets, checkpoint::Manifest& manifest);

}  // namespace zero::state
