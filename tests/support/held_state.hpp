#pragma once
/// A tiny run's configuration, and the state that one rank would hold of it, without an engine.

#include <cstddef>
#include <vector>

#include "tests/support/models.hpp"
#include "zero/setup/build.hpp"
#include "zero/state/state_view.hpp"

namespace zero::testing {

/// A vocabulary of 100 is padded to 128 rows.
inline RunConfig tiny(int64_t stage, Dtype compute = Dtype::f32) {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 2}, {"width", 64}, {"heads", 2}, {"vocab_size", 100}},
       .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 16;
  config.run.steps = 1;
  config.run.output = "runs/tiny";
  config.train_micro_batch_size_per_gpu = 1;
  config.zero.stage = stage;
  config.bf16.enabled = compute == Dtype::bf16;
  config.fp16.enabled = compute == Dtype::f16;
  return config;
}

/// The persistent buffers of one rank, zero as in a new arena.
class Held {
 public:
  Held(const plan::Plan& plan, int rank) : plan_(plan), rank_(rank) {
    for (const plan::Buffer& buffer : plan.buffers) buffers_.emplace_back(size_t(buffer.bytes));
  }
  state::StateView view() {
    return {.plan = &plan_, .rank = rank_, .bytes = [this](int32_t buffer) {
              return std::span(buffers_[size_t(buffer)]);
            }};
  }
  bool operator==(const Held& other) const { return buffers_ == other.buffers_; }

 private:
  const plan::Plan& plan_;
  int rank_;
  std::vector<std::vector<std::byte>> buffers_;
};

}  // namespace zero::testing
