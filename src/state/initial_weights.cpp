#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

#include "zero/base/team.hpp"
#include "zero/kernels/initialise.hpp"
#include "zero/state/state_view.hpp"

namespace zero::state {
namespace {

/// Elements of a chunk. So few let threads share evenly and need little memory. In any type they
/// are whole blocks of a disk, which are then written once.
constexpr int64_t kChunkNumel = 1 << 16;

/// A range of elements [begin, end) of a unit, with any parameters and padding in it.
struct Chunk {
  const plan::Unit* unit;
  int64_t begin, end;
};

std::vector<Chunk> chunks_to_fill(const StateView& view) {
  std::vector<Chunk> chunks;
  for (const plan::Unit& unit : view.plan->units) {
    const UnitRange mine = filled_range(unit, view.rank);
    for (int64_t i = mine.begin; i < mine.end; i += kChunkNumel) {
      chunks.push_back({&unit, i, std::min(mine.end, i + kChunkNumel)});
    }
  }
  return chunks;
}

/// Draws elements of a parameter from `first` on.
void draw(const graph::Parameter& parameter, uint64_t seed, uint32_t number, int64_t first,
          std::span<float> values) {
  if (parameter.init != graph::Init::normal) {
    std::fill(values.begin(), values.end(), parameter.init == graph::Init::ones ? 1.0f : 0.0f);
    return;
  }
  kernels::initial_normals(seed, number, first, values);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] *= parameter.deviation_of(first + int64_t(i));
  }
}

void fill(const StateView& view, const Chunk& chunk, uint64_t seed, std::vector<float>& values) {
  values.assign(size_t(chunk.end - chunk.begin), 0.0f);
  for (const plan::UnitParameter& place : chunk.unit->parameters) {
    const graph::Parameter& parameter = view.plan->graphs[0].parameters[size_t(place.parameter)];
    const int64_t first = std::max(chunk.begin, place.begin);
    const int64_t last = std::min(chunk.end, place.begin + parameter.real_numel);
    if (first >= last) continue;
    draw(parameter, seed, uint32_t(place.parameter), first - place.begin,
         std::span(values).subspan(size_t(first - chunk.begin), size_t(last - first)));
  }
  write_master(view, *chunk.unit, chunk.begin, values);
}

void fill_state(const StateView& view, const plan::Unit& unit, StateKind kind, float value) {
  const UnitRange mine = held_range(unit, unit.optimizer_sharded, view.rank);
  for (const plan::UnitParameter& place : unit.parameters) {
    const int64_t real = view.plan->graphs[0].parameters[size_t(place.parameter)].real_numel;
    const int64_t last = std::min(mine.end, place.begin + real);
    for (int64_t i = std::max(mine.begin, place.begin); i < last; i += kChunkNumel) {
      const std::vector<float> values(size_t(std::min(kChunkNumel, last - i)), value);
      write_state(view, unit, kind, i, values);
    }
  }
}

}  // namespace

void fill_initial_states(const StateView& view) {
  const std::span<const OptimizerState> states = view.plan->request.optimizer.states;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].initial == 0) continue;
    for (const plan::Unit& unit : view.plan->units) {
      if (!unit.frozen) fill_state(view, unit, StateKind(i), states[i].initial);
    }
  }
}

void fill_initial_weights(const StateView& view, uint64_t seed, int threads) {
  const std::vector<Chunk> chunks = chunks_to_fill(view);
  std::atomic<size_t> next{0};
  in_team(threads, [&](int) {
    std::vector<float> values;
    for (size_t i = next++; i < chunks.size(); i = next++) fill(view, chunks[i], seed, values);
  });
  fill_initial_states(view);
}

}  // namespace zero::state
