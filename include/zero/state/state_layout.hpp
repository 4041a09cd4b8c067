#pragma once
/// The elements of tensors that a rank writes into its file, and their place in its memory.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"
#include "zero/setup/saved_parts.hpp"
#include "zero/state/state_view.hpp"

namespace zero::checkpoint {
struct SlicePlan;
}

namespace zero::state {

/// Returns the state kind of a part. REQUIRES: the part is not the weight.
StateKind kind_of(setup::SavedPart part);

/// A range of elements of one parameter that one rank holds.
struct HeldSlice {
  const plan::Unit* unit;
  int32_t parameter;
  UnitRange range;  ///< elements of the unit
  int64_t begin;    ///< index in the parameter of the first element

  int64_t numel() const { return range.end - range.begin; }
};

/// Returns the slices of a plan's parameters that `rank` writes. They are its shard of every unit,
/// at every stage, so each element is written once and ranks share the work. Without padding; at
/// most one slice a parameter.
std::vector<HeldSlice> slices_to_save(const plan::Plan& plan, int rank);

/// Returns the slices of a plan's parameters that `rank` must read: those whose optimizer state it
/// holds, and frozen weights that it holds. The first gather completes whole weights at stages 1
/// and 2.
std::vector<HeldSlice> slices_to_load(const plan::Plan& plan, int rank);

/// Returns the extents of a graph's parameter without the rows that pad the vocabulary.
std::vector<int64_t> stored_shape(const graph::Graph& graph, int32_t parameter);

/// Returns the tensor of a part of a plan's parameter: its name,
/// "optimizer/momentum/transformer.wte.weight", its type and its extents.
checkpoint::Tensor saved_tensor(const plan::Plan& plan, int32_t parameter, setup::SavedPart part);

/// A dataset of a rank's file.
struct SavedSlice {
  HeldSlice held;
  setup::SavedPart part;
};
/// Returns the slices of these parts of a plan's parameters that `rank` writes, in the order of its
/// file.
std::vector<SavedSlice> saved_slices(const plan::Plan& plan, int rank,
                                     std::span<const setup::SavedPart> parts);
/// Returns the slices of a plan's parameters that `rank` reads: of masters and states, and of
/// frozen units' weights unless borrowed.
std::vector<SavedSlice> loaded_slices(const plan::Plan& plan, int rank);
/// Returns saved_slices() of the same arguments with their tensors, for a writer of the rank's
/// file.
std::vector<checkpoint::SlicePlan> slice_plans(const plan::Plan& plan, int rank,
                                               std::span<const setup::SavedPart> parts);

/// Returns `slices` in pieces of at most `numel` elements, in the slices' order.
std::vector<SavedSlice> pieces_of(const std::vector<SavedSlice>& slices,
                                  int64_t numel = setup::kPieceNumel);

/// Returns the bytes of a piece of a plan's state in a file.
int64_t bytes_of_piece(const plan::Plan& plan, const SavedSlice& piece);

/// Returns the view's memory of a piece in a file's form; none if it must be made or read.
std::span<const std::byte> piece_in_memory(const StateView& view, const SavedSlice& piece);

/// Copies a piece from the view's buffers to `out`, in a file's form. REQUIRES: `out` has the
/// piece's bytes and is aligned for floats.
void copy_piece(const StateView& view, const SavedSlice& piece, std::span<std::byte> out);

/// Adds all tensors of a plan to a manifest. Returns the index in it of each parameter's first
/// tensor. REQUIRES: `parts` begins as saved_parts().
std::vector<int32_t> describe_tensors(const plan::Plan& plan,
                                      std::span<const setup::SavedPart> parts,
                                      checkpoint::Manifest& manifest);

/// Adds all tensors of a plan and the slices of `ranks` ranks to a manifest, without places. Rank
/// r's file is number r. REQUIRES: `parts` begins as saved_parts().
void describe_slices(const plan::Plan& plan, int ranks, std::span<const setup::SavedPart> parts,
                     checkpoint::Manifest& manifest);

/// Checks before training that a manifest of this plan and these facts can be read. `weights_only`
/// is that of [checkpoint]. Throws Error(kUsage), with the numbers and a setting that works, if it
/// is too long.
void require_readable_manifest(const plan::Plan& plan, bool weights_only,
                               const std::map<std::string, std::string>& facts);

/// Throws Error(kInput) if the checkpoint of this manifest lacks a tensor that the plan loads, or
/// has it with other extents. The text names `folder` and the tensor.
void require_loadable(const plan::Plan& plan, const checkpoint::Manifest& manifest,
                      const std::string& folder);

/// Returns the reason that a run with this plan cannot continue the states of a manifest's
/// checkpoint: its optimizer keeps others, or updates them otherwise. Returns "" if it can.
std::string other_optimizer(const plan::Plan& plan, const checkpoint::Manifest& manifest);

/// Returns the reason that a run with this plan cannot continue a manifest's checkpoint. It is a
/// parameter that is frozen in one of them alone, and would lack or lose its states. Returns "" if
/// it can.
std::string other_freeze(const plan::Plan& plan, const checkpoint::Manifest& manifest);

/// Sets the places of the slices that describe_slices() put into a manifest. `offsets`
/// [ranks][slices of the rank] are their first bytes in the rank's file, from ShardWriter.
void place_slices(const std::vector<std::vector<int64_t>>& offsets, checkpoint::Manifest& manifest);

}  // namespace zero::state
