#pragma once
/// The states of all ranks of a plan in one process: filled with values that tell places apart,
/// saved as one checkpoint, loaded, compared.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/save/checkpoint_check.hpp"
#include "src/save/checkpoint_payload.hpp"
#include "src/save/slice_reader.hpp"
#include "tests/support/held_state.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/state/state_layout.hpp"

namespace zero::testing {

/// Another one for each element of each tensor, with all 24 significant bits of fp32: what a weight
/// in 16 bits cannot hold shows in the rest.
inline float value_of(const checkpoint::Tensor& tensor, int64_t element) {
  const auto name = uint32_t(std::hash<std::string>()(tensor.name));
  const uint32_t bits = name + uint32_t(element) * 2654435761u;  // 2^32 over the golden ratio
  const float size = float(1u << 23 | bits >> 9 | 1u) / (1 << 23);
  return bits & 1 ? -size : size;
}

/// The states of all ranks of a plan, in whatever way it shares them.
class RankStates {
 public:
  explicit RankStates(const plan::Plan& plan) : plan_(plan) {
    for (int rank = 0; rank < plan.request.ranks; ++rank) {
      held_.push_back(std::make_unique<Held>(plan, rank));
    }
  }

  void fill() {
    for (size_t rank = 0; rank < held_.size(); ++rank) fill(int(rank));
  }

  int64_t wrong_elements() {
    int64_t wrong = 0;
    for (size_t rank = 0; rank < held_.size(); ++rank) wrong += wrong_elements(int(rank));
    return wrong;
  }

  int64_t wrong_elements(int rank) {
    int64_t wrong = 0;
    std::vector<float> values;
    for_each_piece(rank, [&](const state::StateView& view, const state::SavedSlice& piece,
                             const auto& tensor) {
      values.resize(size_t(piece.held.numel()));
      state::read_state(view, *piece.held.unit, state::kind_of(piece.part), piece.held.range,
                        values);
      for (size_t i = 0; i < values.size(); ++i) {
        wrong += values[i] != value_of(tensor, piece.held.begin + int64_t(i));
      }
    });
    return wrong;
  }

  checkpoint::Manifest save(checkpoint::Store& store) {
    const std::string temporary = store.begin(1);
    const OpenFile folder(store.open_folder(temporary));
    checkpoint::Manifest manifest;
    manifest.step = 1;
    manifest.ranks = int32_t(held_.size());
    std::vector<std::vector<int64_t>> offsets;
    save::SliceReader reader;
    for (int rank = 0; rank < manifest.ranks; ++rank) {
      save::LivePayload live(held_[size_t(rank)]->view(), setup::saved_parts(plan_, false), reader);
      checkpoint::ShardWriter file(folder.descriptor(), checkpoint::rank_file_name(rank),
                                   checkpoint::ShardStructure(state::slice_plans(
                                       plan_, rank, setup::saved_parts(plan_, false))),
                                   staging_, {});
      for (size_t i = 0; i < live.pieces(); ++i) live.append_to(file, i);
      auto written = file.finish();
      manifest.files.push_back(std::move(written.file));
      offsets.push_back(std::move(written.offsets));
    }
    state::describe_slices(plan_, manifest.ranks, setup::saved_parts(plan_, false), manifest);
    state::place_slices(offsets, manifest);
    manifest.files.push_back(
        checkpoint::IndexStructure(manifest).write(folder.descriptor(), manifest));
    checkpoint::Manifest described;
    state::describe_slices(plan_, manifest.ranks, setup::saved_parts(plan_, false), described);
    EXPECT_GE(checkpoint::text_bytes_most(described), int64_t(to_text(manifest).size()));
    store.write_manifest(temporary, manifest);
    store.publish(temporary, 1);
    return manifest;
  }

  state::StateView view(int rank) { return held_[size_t(rank)]->view(); }

  void load(const checkpoint::Store& store, const checkpoint::Manifest& manifest) {
    for (const auto& held : held_) {
      checkpoint::BlockLedger ledger(manifest);
      save::load_state(store, manifest, held->view(), 2, ledger);
      EXPECT_GT(ledger.noted(), 0);
    }
  }

 private:
  void fill(int rank) {
    std::vector<float> values;
    for_each_piece(rank, [&](const state::StateView& view, const state::SavedSlice& piece,
                             const auto& tensor) {
      values.clear();
      for (int64_t i = 0; i < piece.held.numel(); ++i) {
        values.push_back(value_of(tensor, piece.held.begin + i));
      }
      state::write_state(view, *piece.held.unit, state::kind_of(piece.part), piece.held.range.begin,
                         values);
    });
  }

  template <class Work>
  void for_each_piece(int rank, const Work& work) {
    const state::StateView view = held_[size_t(rank)]->view();
    for (const state::SavedSlice& piece : state::pieces_of(state::loaded_slices(plan_, rank))) {
      work(view, piece, state::saved_tensor(plan_, piece.held.parameter, piece.part));
    }
  }

  const plan::Plan& plan_;
  const Arena staging_{checkpoint::kStagingBytes};
  std::vector<std::unique_ptr<Held>> held_;
};

}  // namespace zero::testing
