#include "src/save/checkpoint_reader.hpp"

#include <vector>

#include "zero/base/process.hpp"

namespace zero::save {
namespace {

void load_piece(checkpoint::TensorReader& reader, const state::StateView& view,
                const state::SavedSlice& piece, std::vector<float>& room) {
  const auto& [held, part] = piece;
  checkpoint::Tensor tensor = state::saved_tensor(*view.plan, held.parameter, part);
  if (part == state::SavedPart::weight) {
    tensor.dtype = reader.find(tensor.name)->dtype;  // another run may have saved in another type
    room.resize(size_t(held.numel()));
    reader.read(tensor, held.begin, room);
    return state::write_master(view, *held.unit, held.range.begin, room);
  }
  const std::span<float> place =
      state::state_in_memory(view, *held.unit, state::kind_of(part), held.range);
  if (!place.empty()) return reader.read(tensor, held.begin, place);
  room.resize(size_t(held.numel()));
  reader.read(tensor, held.begin, room);
  state::write_state(view, *held.unit, state::kind_of(part), held.range.begin, room);
}

}  // namespace

void load_state(const checkpoint::Store& store, const checkpoint::Manifest& manifest,
                const state::StateView& view, int threads, checkpoint::BlockLedger& ledger) {
  const std::vector<state::SavedSlice> pieces =
      state::pieces_of(state::loaded_slices(*view.plan, view.rank));
  int64_t numel = 0;
  for (const state::SavedSlice& piece : pieces) numel += piece.held.numel();
  in_team(threads, [&](int member) {
    checkpoint::TensorReader reader(store, manifest, ledger);
    std::vector<float> room;
    // Neighbours in the file by one thread, which finds the block that they share in memory.
    const int64_t first = numel * member / threads, last = numel * (member + 1) / threads;
    int64_t begin = 0;
    for (const state::SavedSlice& piece : pieces) {
      if (begin >= first && begin < last) load_piece(reader, view, piece, room);
      begin += piece.held.numel();
    }
  });
}

}  // namespace zero::save
