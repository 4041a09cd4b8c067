#pragma once
/// A compiled plan that continues several texts by rows. Each row is a token of any of them. The
/// owner of the texts places the rows and moves cache entries.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/kernels/step_state.hpp"
#include "zero/launch/watchdog.hpp"
#include "zero/model/recipe.hpp"
#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"
#include "zero/state/state_view.hpp"
#include "zero/text/decoding_ranks.hpp"

namespace zero::writing {

/// A token and its place.
struct TokenRow {
  int32_t token;
  kernels::ChunkRow place;
};

class RowDecoder {
 public:
  struct Options {
    Dtype compute = Dtype::f32;
    int threads = 1;
    graph::Chunk decode;   ///< rows that continue texts by a token each
    graph::Chunk prefill;  ///< rows of beginnings, or of sources for an encoder
    std::optional<DecodingRanks> together = {};
    LentMemory lent = {};
  };
  /// Throws as model::graph_of().
  RowDecoder(const model::Recipe& recipe, const Options& options);
  ~RowDecoder();

  static plan::TierBytes bytes(const model::Recipe& recipe, const Options& options);

  const graph::Graph& graph() const { return plan_.graphs[0]; }
  /// Stores fp32 values, rounded to the compute type, from element `first` of parameter `index` on.
  void set_parameter(int32_t index, int64_t first, std::span<const float> values);

  struct Chunk {
    std::span<const TokenRow> rows = {};             ///< at most the body's; may be empty
    std::span<const kernels::CacheMove> moves = {};  ///< as kernels::cached_attention() takes them
    std::span<const int32_t> logits = {};            ///< rows that need logits
  };
  /// Runs kDecode or kPrefill. Allocates nothing. Collective if ranks hold the weights together.
  void run(plan::BodyId body, const Chunk& chunk);
  /// Returns the last run's logits, [chunk.logits, vocabulary], valid until the next run.
  std::span<const float> logits();

  int64_t vocabulary() const { return vocabulary_; }

 private:
  /// A parameter's place and order of elements.
  struct ParameterLayout;
  struct Inputs {
    int32_t tokens = -1, rows = -1, moves = -1, logits = -1;  ///< buffers; -1 if absent
    int64_t room = 0;                                         ///< maximum rows
  };
  Inputs find_inputs(int32_t graph) const;
  void clear();

  int64_t vocabulary_;
  plan::Plan plan_;
  std::vector<ParameterLayout> layouts_;
  std::vector<Inputs> inputs_;  ///< [graphs]
  /// Collectives of each body, and the caller's sum of them; null if not wanted.
  std::array<plan::CollectiveForecasts, plan::kBodies> sends_{};
  plan::CollectiveForecasts* planned_ = nullptr;
  run::Executor executor_;
  std::unique_ptr<launch::Watchdog> watchdog_;
  int rank_ = 0;
  int32_t logits_buffer_;
  int64_t wanted_ = 0;          ///< rows of logits
  std::vector<float> fetched_;  ///< a device's logits; empty if the host reads in place
};

}  // namespace zero::writing
