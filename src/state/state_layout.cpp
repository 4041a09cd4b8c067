#include "zero/state/state_layout.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/checkpoint/shard_file.hpp"

namespace zero::state {
namespace {

constexpr std::string_view kOptimizer = "optimizer/", kMaster = "master";

std::string folder_of(const plan::Plan& plan, setup::SavedPart part) {
  if (part == setup::SavedPart::weight) return "model";
  if (part == setup::SavedPart::master) return text(kOptimizer, kMaster);
  return text(kOptimizer, plan.request.optimizer.states[size_t(part)].name);
}

/// Returns "momentum" for "optimizer/momentum/transformer.wte.weight"; "" for other tensors.
std::string_view state_in(std::string_view tensor) {
  if (!tensor.starts_with(kOptimizer)) return "";
  tensor.remove_prefix(kOptimizer.size());
  const std::string_view state = tensor.substr(0, tensor.find('/'));
  return state == kMaster ? "" : state;
}

std::string list(const std::vector<std::string_view>& states) {
  std::string words;
  for (const std::string_view state : states) words += text(words.empty() ? "" : " and ", state);
  return words.empty() ? "no state" : words;
}

/// Returns the slices of parameters in a range of each unit.
template <class RangeOf>
std::vector<HeldSlice> slices(const plan::Plan& plan, const RangeOf& range_of) {
  std::vector<HeldSlice> found;
  for (const plan::Unit& unit : plan.units) {
    const UnitRange held = range_of(unit);
    for (const plan::UnitParameter& place : unit.parameters) {
      const int64_t real = plan.graphs[0].parameters[size_t(place.parameter)].real_numel;
      const UnitRange range{std::max(held.begin, place.begin),
                            std::min(held.end, place.begin + real)};
      if (range.begin >= range.end) continue;
      found.push_back({&unit, place.parameter, range, range.begin - place.begin});
    }
  }
  return found;
}

size_t place_of(setup::SavedPart part) { return size_t(int(part) - int(setup::SavedPart::weight)); }

/// Returns the wanted parts of all slices.
template <class IsWanted>
std::vector<SavedSlice> with_parts(const std::vector<HeldSlice>& slices,
                                   std::span<const setup::SavedPart> parts,
                                   const IsWanted& is_wanted) {
  std::vector<SavedSlice> all;
  for (const HeldSlice& slice : slices) {
    for (const setup::SavedPart part : parts) {
      if (is_wanted(*slice.unit, part)) all.push_back({slice, part});
    }
  }
  return all;
}

/// True if a resume reads the part: weights follow from masters, but frozen parameters have none.
template <class Held>
bool is_loaded(const Held& held, setup::SavedPart part) {
  return held.frozen == (part == setup::SavedPart::weight) && !held.borrowed;
}

std::string name_in(const plan::Plan& plan, int32_t parameter, setup::SavedPart part) {
  return saved_tensor(plan, parameter, part).name;
}

}  // namespace

StateKind kind_of(setup::SavedPart part) {
  ZERO_REQUIRE(part != setup::SavedPart::weight, "a weight is no state");
  return StateKind(part);
}

std::vector<HeldSlice> slices_to_save(const plan::Plan& plan, int rank) {
  return slices(plan, [rank](const plan::Unit& unit) { return held_range(unit, true, rank); });
}

std::vector<HeldSlice> slices_to_load(const plan::Plan& plan, int rank) {
  return slices(plan, [rank](const plan::Unit& unit) { return filled_range(unit, rank); });
}

std::vector<int64_t> stored_shape(const graph::Graph& graph, int32_t index) {
  const graph::Parameter& parameter = graph.parameters[size_t(index)];
  const Shape& padded = graph[parameter.tensor].shape;
  std::vector<int64_t> shape;
  for (int i = 0; i < padded.rank(); ++i) shape.push_back(padded[i]);
  shape[0] = shape[0] * parameter.real_numel / padded.numel();
  return shape;
}

checkpoint::Tensor saved_tensor(const plan::Plan& plan, int32_t parameter, setup::SavedPart part) {
  const graph::Graph& graph = plan.graphs[0];
  return {.name = text(folder_of(plan, part), "/", graph.prefix,
                       graph[graph.parameters[size_t(parameter)].tensor].name),
          .dtype = setup::dtype_of(plan, part),
          .shape = stored_shape(graph, parameter)};
}

std::vector<SavedSlice> saved_slices(const plan::Plan& plan, int rank,
                                     std::span<const setup::SavedPart> parts) {
  return with_parts(slices_to_save(plan, rank), parts, setup::is_saved<plan::Unit>);
}

std::vector<SavedSlice> loaded_slices(const plan::Plan& plan, int rank) {
  return with_parts(slices_to_load(plan, rank), setup::saved_parts(plan, false),
                    is_loaded<plan::Unit>);
}

std::vector<checkpoint::SlicePlan> slice_plans(const plan::Plan& plan, int rank,
                                               std::span<const setup::SavedPart> parts) {
  std::vector<checkpoint::SlicePlan> plans;
  for (const auto& [held, part] : saved_slices(plan, rank, parts)) {
    plans.push_back({saved_tensor(plan, held.parameter, part), held.begin, held.numel()});
  }
  return plans;
}

std::vector<SavedSlice> pieces_of(const std::vector<SavedSlice>& slices, int64_t numel) {
  std::vector<SavedSlice> pieces;
  for (const auto& [held, part] : slices) {
    for (int64_t first = 0; first < held.numel(); first += numel) {
      const int64_t begin = held.range.begin + first;
      const UnitRange range{begin, std::min(held.range.end, begin + numel)};
      pieces.push_back({{held.unit, held.parameter, range, held.begin + first}, part});
    }
  }
  return pieces;
}

int64_t bytes_of_piece(const plan::Plan& plan, const SavedSlice& piece) {
  return piece.held.numel() * setup::element_bytes(plan, piece.part);
}

std::span<const std::byte> piece_in_memory(const StateView& view, const SavedSlice& piece) {
  const auto& [held, part] = piece;
  if (part == setup::SavedPart::weight) return weights_in_memory(view, *held.unit, held.range);
  return std::as_bytes(state_in_memory(view, *held.unit, kind_of(part), held.range));
}

void copy_piece(const StateView& view, const SavedSlice& piece, std::span<std::byte> out) {
  const auto& [held, part] = piece;
  if (part == setup::SavedPart::weight) {
    read_weights(view, *held.unit, held.range, out);
  } else {
    read_state(view, *held.unit, kind_of(part), held.range,
               {reinterpret_cast<float*>(out.data()), size_t(held.numel())});
  }
}

std::vector<int32_t> describe_tensors(const plan::Plan& plan,
                                      std::span<const setup::SavedPart> parts,
                                      checkpoint::Manifest& manifest) {
  std::vector<int32_t> first;
  const std::vector<graph::Parameter>& parameters = plan.graphs[0].parameters;
  for (size_t p = 0; p < parameters.size(); ++p) {
    first.push_back(int32_t(manifest.tensors.size()));
    for (const setup::SavedPart part : parts) {
      if (!setup::is_saved(parameters[p], part)) continue;
      manifest.tensors.push_back(saved_tensor(plan, int32_t(p), part));
    }
  }
  return first;
}

void describe_slices(const plan::Plan& plan, int ranks, std::span<const setup::SavedPart> parts,
                     checkpoint::Manifest& manifest) {
  const std::vector<int32_t> first = describe_tensors(plan, parts, manifest);
  for (int rank = 0; rank < ranks; ++rank) {
    for (const auto& [held, part] : saved_slices(plan, rank, parts)) {
      manifest.slices.push_back({.tensor = first[size_t(held.parameter)] + int32_t(place_of(part)),
                                 .file = rank,
                                 .begin = held.begin,
                                 .numel = held.numel()});
    }
  }
}

void require_readable_manifest(const plan::Plan& plan, bool weights_only,
                               const std::map<std::string, std::string>& facts) {
  constexpr int64_t kFactsToCome = 4096;  // facts of the state after a step
  const auto bytes_with = [&](bool weights_alone) {
    checkpoint::Manifest manifest;
    manifest.facts = facts;
    describe_slices(plan, plan.request.ranks, setup::saved_parts(plan, weights_alone), manifest);
    return checkpoint::text_bytes_most(manifest) + kFactsToCome;
  };
  const int64_t bytes = bytes_with(weights_only);
  if (bytes <= checkpoint::kManifestBytesMax) return;
  const bool smaller = !weights_only && bytes_with(true) <= checkpoint::kManifestBytesMax;
  refuse(Exit::kUsage, "checkpoint: the manifest of a save by ",
         counted(plan.request.ranks, "rank"), " would have ", bytes, " bytes, of which ",
         checkpoint::kManifestBytesMax, " are read - ",
         smaller ? "write checkpoint.weights_only = true, which saves weights alone"
                 : "take a smaller model, or fewer ranks");
}

void require_loadable(const plan::Plan& plan, const checkpoint::Manifest& manifest,
                      const std::string& folder) {
  std::map<std::string_view, const checkpoint::Tensor*> known;
  for (const checkpoint::Tensor& tensor : manifest.tensors) known[tensor.name] = &tensor;
  const std::vector<graph::Parameter>& parameters = plan.graphs[0].parameters;
  for (size_t p = 0; p < parameters.size(); ++p) {
    for (const setup::SavedPart part : setup::saved_parts(plan, false)) {
      if (!is_loaded(parameters[p], part)) continue;
      checkpoint::Tensor wanted = saved_tensor(plan, int32_t(p), part);
      const auto found = known.find(wanted.name);
      if (found == known.end()) refuse(Exit::kInput, folder, ": holds no ", wanted.name);
      // Weights have the compute type of the run that saved them, which may differ.
      if (part == setup::SavedPart::weight) wanted.dtype = found->second->dtype;
      if (*found->second == wanted) continue;
      refuse(Exit::kInput, folder, ": ", wanted.name, " has other extents than this model's");
    }
  }
}

std::string other_freeze(const plan::Plan& plan, const checkpoint::Manifest& manifest) {
  std::set<std::string_view> known;
  for (const checkpoint::Tensor& tensor : manifest.tensors) known.insert(tensor.name);
  const graph::Graph& graph = plan.graphs[0];
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const graph::Parameter& parameter = graph.parameters[p];
    if (!known.contains(name_in(plan, int32_t(p), setup::SavedPart::weight))) continue;
    const bool trained = known.contains(name_in(plan, int32_t(p), setup::SavedPart::master));
    if (trained != parameter.frozen) continue;
    return text("model.freeze: ", graph[parameter.tensor].name,
                trained ? " was trained there and is frozen" : " was frozen there and is trained",
                " now; model.init_from begins a new run with its weights");
  }
  return "";
}

std::string other_optimizer(const plan::Plan& plan, const checkpoint::Manifest& manifest) {
  const OptimizerForm& now = plan.request.optimizer;
  std::vector<std::string_view> kept, wanted;
  for (const checkpoint::Tensor& tensor : manifest.tensors) {
    const std::string_view state = state_in(tensor.name);
    if (!state.empty() && std::ranges::find(kept, state) == kept.end()) kept.push_back(state);
  }
  for (const OptimizerState& state : now.states) wanted.push_back(state.name);
  std::ranges::sort(kept);
  std::ranges::sort(wanted);
  const auto fact = manifest.facts.find("optimizer");
  const std::string name = fact == manifest.facts.end() ? "another" : fact->second;
  if (kept == wanted && update_alike(name, now.name)) return "";
  return text("the optimizer is ", name, " there, which keeps ", list(kept), ", and ", now.name,
              " now, which keeps ", list(wanted));
}

void place_slices(const std::vector<std::vector<int64_t>>& offsets,
                  checkpoint::Manifest& manifest) {
  auto slice = manifest.slices.begin();
  for (size_t rank = 0; rank < offsets.size(); ++rank) {
    for (const int64_t offset : offsets[rank]) {
      ZERO_REQUIRE(slice != manifest.slices.end() && size_t(slice->file) == rank, "rank ", rank,
                   " wrote ", offsets[rank].size(), " slices, more than it holds");
      (slice++)->offset = offset;
    }
  }
  ZERO_REQUIRE(slice == manifest.slices.end(), manifest.slices.end() - slice, " slices of ",
               manifest.slices.size(), " were not written");
}

}  // namespace zero::state
