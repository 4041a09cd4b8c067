#pragma once
/// A forward graph with weights of noise, run op by op: its loss, and whether the gradients that
/// differentiate() gives are the slopes of that loss.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/arrays.hpp"
#include "tests/support/naive.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::testing {

/// In fp32, on one thread.
class TriedGraph {
 public:
  explicit TriedGraph(const graph::Graph& forward)
      : graph_(graph::differentiate(forward)), naive_(graph_, 1) {
    uint64_t seed = 1;
    for (const graph::Parameter& parameter : graph_.parameters) {
      const auto from = noise<float>(graph_[parameter.tensor].shape.numel(), ++seed, 0.7);
      std::ranges::copy(from, values(parameter.tensor).begin());
    }
    for (const graph::Input& input : graph_.inputs) {
      if (input.filled_by != graph::FilledBy::data || input.ids == 0) continue;
      const std::span<int32_t> ids = naive_.values<int32_t>(input.tensor);
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t((7 * i + seed) % size_t(input.ids));
      ++seed;
    }
    naive_.values<kernels::StepInputs>(graph_.step_inputs)[0] = {};
    naive_.values<kernels::StepInputs>(graph_.step_inputs)[0].counted_tokens = 1;
    naive_.values<kernels::StepState>(graph_.step_state)[0] = {};
    naive_.values<kernels::StepState>(graph_.step_state)[0].loss_scale = 1;
  }

  const graph::Graph& graph() const { return graph_; }
  std::span<std::byte> bytes(graph::TensorId tensor) { return naive_.bytes(tensor); }
  std::span<float> values(graph::TensorId tensor) { return naive_.values<float>(tensor); }
  std::span<int32_t> ids(const std::string& name) {
    return naive_.values<int32_t>(graph_.input(name));
  }

  /// The sum over all targets.
  double loss() {
    const graph::TensorId sums = graph_.output(graph::kLossOutput);
    naive_.values<kernels::StepSums>(sums)[0] = {};
    naive_.run(0);
    return naive_.values<kernels::StepSums>(sums)[0].loss.value();
  }

  /// Central differences at the first few elements of every parameter that has a gradient.
  void expect_slopes(double tolerance = 4e-3) {
    constexpr float kStep = 1.0f / 256;
    for (const graph::Parameter& parameter : graph_.parameters) {
      if (parameter.gradient == graph::kNone) continue;
      const size_t count = std::min<size_t>(values(parameter.tensor).size(), 12);
      loss();
      const std::span<float> all = values(parameter.gradient);
      const std::vector<float> gradient(all.begin(), all.begin() + ptrdiff_t(count));
      for (size_t i = 0; i < count; ++i) {
        const double slope =
            (loss_at(parameter.tensor, i, kStep) - loss_at(parameter.tensor, i, -kStep)) /
            (2.0 * kStep);
        EXPECT_NEAR(gradient[i], slope, tolerance * (1 + std::abs(slope)))
            << graph_[parameter.tensor].name << " " << i;
      }
    }
  }

 private:
  double loss_at(graph::TensorId tensor, size_t element, float step) {
    const float kept = values(tensor)[element];
    values(tensor)[element] = kept + step;
    const double there = loss();
    values(tensor)[element] = kept;
    return there;
  }

  graph::Graph graph_;
  run::NaiveExecutor naive_;
};

}  // namespace zero::testing
