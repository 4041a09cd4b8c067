#pragma once
/// Small plans for tests that need many of them, of a GPT-2 where nothing else is said.

#include <cstdint>
#include <optional>
#include <vector>

#include "src/model/gpt2.hpp"
#include "zero/plan/plan.hpp"

namespace zero::testing {

struct TinyModel {
  model::Gpt2 gpt2{
      .layers = 2, .width = 16, .heads = 2, .vocabulary = 61, .positions = 8, .dropout = 0.1f};
  std::optional<model::Architecture> other = {};  ///< a model in place of gpt2, of 61 tokens
  graph::MicroBatch micro{.samples = 1, .length = 8};
  graph::Recompute recompute = graph::Recompute::none;
  std::vector<graph::Recompute> blocks = {};  ///< where given, a choice a block instead of that
  bool evaluates = true;
  bool fused = false;     ///< as on a device whose products have epilogues
  int64_t head_unit = 1;  ///< of graph::pad_heads()
  bool packed = false;    ///< samples hold several texts: model::ForwardOptions
};

/// Forward, backward and recompute of the tiny model in the request's compute dtype.
graph::Graph tiny_training_graph(const TinyModel& model, Dtype compute);
graph::Graph tiny_evaluation_graph(const TinyModel& model, Dtype compute);

plan::Plan tiny_plan(const plan::Request& request, const TinyModel& model = {});

/// Whether any of a plan's activations rests beside the device.
bool moves_activations(const plan::Plan& plan);

/// A request and a model drawn from `seed`: every stage, 1 to 4 ranks, accumulation, precision,
/// optimizer, groups, bucket sizes, prefetch, recompute, overlap, reproducible or not.
plan::Request random_request(uint64_t seed);
/// The same with homes beside the device, drawn as well: at stages 1 to 3. What rests there of the
/// activations depends on the model.
plan::Request random_tiered_request(uint64_t seed);
TinyModel random_model(uint64_t seed);

}  // namespace zero::testing
