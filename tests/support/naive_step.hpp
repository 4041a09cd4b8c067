#pragma once
/// A micro-batch of a graph, run op by op with weights of noise, and its loss along gradients.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "tests/support/naive.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/graph/graph.hpp"
#include "zero/kernels/initialise.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::testing {

/// In fp32, on one thread. The graph has inputs "tokens" and "targets".
struct NaiveStep {
  const graph::Graph& graph;
  run::NaiveExecutor naive;

  NaiveStep(const graph::Graph& of, float deviation) : graph(of), naive(of, 1) {
    for (const char* name : {"tokens", "targets"})
      fill_samples(name, graph.samples, 0, naive.values<int32_t>(graph.input(name)));
    for (size_t p = 0; p < graph.parameters.size(); ++p) {
      const std::span<float> values = naive.values<float>(graph.parameters[p].tensor);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = deviation * kernels::initial_normal(1, uint32_t(p), int64_t(i));
    }
  }

  double run() {
    auto& inputs = naive.values<kernels::StepInputs>(graph.step_inputs)[0];
    auto& state = naive.values<kernels::StepState>(graph.step_state)[0];
    auto& sums = naive.values<kernels::StepSums>(graph.output(graph::kLossOutput))[0];
    inputs = {}, state = {}, sums = {};
    inputs.counted_tokens = 1, state.loss_scale = 1;
    naive.run(0);
    return sums.loss.value();
  }

  /// Expects that the loss changes along each gradient by its norm, in steps of `step`. Leaves out
  /// the table of tokens, whose padding must stay zero.
  void expect_gradients(double step) {
    run();
    for (const graph::Parameter& parameter : graph.parameters) {
      const std::string& name = graph[parameter.tensor].name;
      if (name == "table") continue;
      const std::span<float> gradient = naive.values<float>(parameter.gradient);
      const std::vector<float> slope(gradient.begin(), gradient.end());
      double squares = 0;
      for (float one : slope) squares += double(one) * double(one);
      const double norm = std::sqrt(squares);
      ASSERT_GT(squares, 0) << name;
      const double quotient = (loss_at(parameter.tensor, slope, step / norm) -
                               loss_at(parameter.tensor, slope, -step / norm)) /
                              (2 * step);
      EXPECT_NEAR(quotient, norm, 5e-3 * norm + 1e-3) << name;
    }
  }

 private:
  double loss_at(graph::TensorId parameter, const std::vector<float>& slope, double factor) {
    const std::span<float> values = naive.values<float>(parameter);
    const std::vector<float> before(values.begin(), values.end());
    for (size_t i = 0; i < values.size(); ++i) values[i] += float(factor * double(slope[i]));
    const double loss = run();
    std::ranges::copy(before, values.begin());
    return loss;
  }
};

}  // namespace zero::testing
