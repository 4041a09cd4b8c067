#pragma once
/// A model of a golden file, interpreted op by op: its loss and its gradients are compared with
/// those of Hugging Face's classes.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/golden.hpp"
#include "tests/support/models.hpp"
#include "tests/support/naive.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/kernels/step_state.hpp"
#include "zero/model/recipe.hpp"

namespace zero::testing_support {

/// The model of a golden file as its config.json says it, without dropout.
inline model::Architecture golden_model(const std::string& hub) {
  model::HubConfig config(hub, "config.json");
  model::Architecture model = model::architecture_in(catalogue(), config);
  model.numbers.rates["dropout"] = 0;
  return model;
}

/// The extents of a parameter without padding rows.
inline std::vector<int64_t> real_extents(const graph::Graph& graph,
                                         const graph::Parameter& parameter) {
  const Shape& shape = graph[parameter.tensor].shape;
  if (shape.rank() == 1) return {parameter.real_numel};
  return {parameter.real_numel / shape[1], shape[1]};
}

/// Returns the first weights of a parameter's stored tensors, one tensor after the other. Empty for
/// a buffer, which is no parameter of Hugging Face's classes.
inline std::vector<float> golden_values(const std::vector<testing::GoldenTensor>& tensors,
                                        const graph::StoredForm& form) {
  std::vector<float> stored;
  for (const std::string& name : form.names) {
    const auto found = std::ranges::find(tensors, name, &testing::GoldenTensor::name);
    if (found == tensors.end()) return {};
    const auto part = testing::golden_weights(*found, found - tensors.begin());
    stored.insert(stored.end(), part.begin(), part.end());
  }
  return stored;
}

/// Returns the stored tensors of a parameter by their names.
template <class T>
std::map<std::string, std::vector<T>> stored_values(const graph::StoredForm& form,
                                                    std::span<const int64_t> extents,
                                                    std::span<const float> parameter) {
  std::vector<float> stored(parameter.size());
  graph::to_stored(form, extents, parameter, stored);
  const int64_t columns = extents.back(), rows = int64_t(parameter.size()) / columns;
  const std::vector<int64_t> ends = graph::column_ends(form, columns);
  std::map<std::string, std::vector<T>> tensors;
  for (size_t i = 0; i < form.names.size(); ++i) {
    const int64_t begin = i == 0 ? 0 : ends[i - 1];
    tensors[form.names[i]] = {stored.begin() + rows * begin, stored.begin() + rows * ends[i]};
  }
  return tensors;
}

/// The choices that repeat or join operations.
struct TrialOptions {
  graph::Recompute policy = graph::Recompute::none;
  bool fused = false;
  int64_t head_unit = 1;
};

/// Returns the graph of a step of a forward graph.
inline graph::Graph step_graph(const graph::Graph& forward, const TrialOptions& options) {
  const graph::Graph plain = differentiate(forward);
  const std::vector<graph::Recompute> policies(plain.blocks.size(), options.policy);
  const graph::Graph graph = recompute(plain, policies);
  return options.fused ? fuse(graph) : graph;
}

/// A graph of a model whose parameters are made of a golden file's tensors.
class GoldenTrial {
 public:
  GoldenTrial(graph::Graph graph, const std::vector<testing::GoldenTensor>& tensors,
              int64_t counted)
      : graph_(std::move(graph)), naive_(graph_, 1), counted_(counted) {
    auto& inputs = naive_.values<kernels::StepInputs>(graph_.step_inputs)[0];
    inputs = {};
    inputs.step = 1;
    inputs.counted_tokens = counted;
    auto& state = naive_.values<kernels::StepState>(graph_.step_state)[0];
    state = {};
    state.loss_scale = 1;
    for (const graph::Parameter& parameter : graph_.parameters) set(parameter, tensors);
  }

  template <class T>
  void fill(const char* input, const std::vector<T>& values) {
    std::ranges::copy(values, naive_.values<T>(graph_.input(input)).begin());
  }

  double loss() {
    auto& sums = naive_.values<kernels::StepSums>(graph_.output(graph::kLossOutput))[0];
    sums = {};
    naive_.run(0);
    return sums.loss.value() / double(counted_);
  }

  /// Returns an output of the last loss().
  std::span<const float> output(const char* name) {
    return naive_.values<float>(graph_.output(name));
  }

  /// Gradients of the stored tensors, by their names.
  std::map<std::string, std::vector<double>> gradients() {
    std::map<std::string, std::vector<double>> all;
    for (const graph::Parameter& parameter : graph_.parameters) {
      all.merge(stored_values<double>(parameter.stored, real_extents(graph_, parameter),
                                      values(parameter, parameter.gradient)));
    }
    return all;
  }

  void expect(double loss_there, const std::vector<testing::GoldenTensor>& tensors) {
    EXPECT_NEAR(loss(), loss_there, 1e-6 * loss_there);
    const auto own = gradients();
    for (const testing::GoldenTensor& tensor : tensors) {
      ASSERT_TRUE(own.contains(tensor.name)) << tensor.name;
      // The floor acts where a whole tensor's gradient is zero but for rounding, as that of the
      // biases of keys; the least of the others is 0.009.
      EXPECT_LE(testing::relative_l2(own.at(tensor.name), tensor.gradient, 0.005), 1e-5)
          << tensor.name;
    }
  }

 private:
  std::span<float> values(const graph::Parameter& parameter, graph::TensorId tensor) {
    return naive_.values<float>(tensor).first(size_t(parameter.real_numel));
  }
  void set(const graph::Parameter& parameter, const std::vector<testing::GoldenTensor>& tensors) {
    std::ranges::fill(naive_.values<float>(parameter.tensor), 0.0f);
    const std::vector<float> stored = golden_values(tensors, parameter.stored);
    if (stored.empty()) return;
    graph::from_stored(parameter.stored, real_extents(graph_, parameter), stored,
                       values(parameter, parameter.tensor));
  }

  graph::Graph graph_;
  run::NaiveExecutor naive_;
  int64_t counted_;
};

/// Calls `expect` with every choice that repeats or joins operations.
template <class Expect>
void with_every_choice(const std::string& name, int64_t head_unit, const Expect& expect) {
  for (const auto policy :
       {graph::Recompute::none, graph::Recompute::selective, graph::Recompute::full}) {
    for (const bool fused : {false, true}) {
      SCOPED_TRACE(text(name, ", recompute ", int(policy), fused ? ", fused" : ""));
      expect(TrialOptions{policy, fused, head_unit});
    }
  }
}

}  // namespace zero::testing_support
