#include "zero/train/initial_weights.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "zero/kernels/initialise.hpp"

namespace zero::train {
namespace {

/// Small enough that threads share the work evenly, and to be no allocation to speak of.
constexpr int64_t kChunkNumel = 1 << 16;

/// Elements [first, last) of a parameter that begins at element `begin` of its unit.
struct Chunk {
  const plan::Unit* unit;
  int32_t parameter;
  int64_t begin, first, last;
};

std::vector<Chunk> chunks_to_fill(const StateView& view) {
  const graph::Graph& graph = view.plan->graphs[0];
  std::vector<Chunk> chunks;
  for (const plan::Unit& unit : view.plan->units) {
    const UnitRange mine = held_range(unit, unit.optimizer_sharded, view.rank);
    for (const plan::Placement& place : unit.placements) {
      const int64_t real = graph.parameters[size_t(place.parameter)].real_numel;
      const int64_t end = std::min(real, mine.end - place.begin);
      for (int64_t i = std::max<int64_t>(0, mine.begin - place.begin); i < end; i += kChunkNumel) {
        chunks.push_back({&unit, place.parameter, place.begin, i, std::min(end, i + kChunkNumel)});
      }
    }
  }
  return chunks;
}

void fill(const StateView& view, const Chunk& chunk, uint64_t seed, std::vector<float>& values) {
  const graph::Parameter& parameter = view.plan->graphs[0].parameters[size_t(chunk.parameter)];
  values.assign(size_t(chunk.last - chunk.first),
                parameter.init == graph::Init::ones ? 1.0f : 0.0f);
  if (parameter.init == graph::Init::normal) {
    kernels::initial_normals(seed, uint32_t(chunk.parameter), chunk.first, values);
    for (float& value : values) value *= parameter.deviation;
  }
  write_master(view, *chunk.unit, chunk.begin + chunk.first, values);
}

}  // namespace

void fill_initial_weights(const StateView& view, uint64_t seed, int threads) {
  const std::vector<Chunk> chunks = chunks_to_fill(view);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    std::vector<float> values;
    for (size_t i = next++; i < chunks.size(); i = next++) fill(view, chunks[i], seed, values);
  };
  std::vector<std::jthread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
}

}  // namespace zero::train
