#pragma once
/// A tiny encoder-decoder of a golden file, interpreted op by op: its loss and its gradients are
/// compared with those of Hugging Face's classes.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/support/golden.hpp"
#include "tests/support/models.hpp"
#include "tests/support/naive.hpp"
#include "zero/graph/passes.hpp"
#include "zero/kernels/step_state.hpp"
#include "zero/model/recipe.hpp"

namespace zero::testing_support {

/// The model of a golden file as its config.json says it.
inline model::Architecture golden_model(const testing::GoldenPairs& golden) {
  model::HubConfig hub(golden.hub, "config.json");
  model::Architecture model = model::architecture_in(catalogue(), hub);
  model.numbers.rates["dropout"] = 0;
  model.numbers.rates["label_smoothing"] = golden.label_smoothing;
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
inline std::vector<float> golden_values(const testing::GoldenPairs& golden,
                                        const graph::StoredForm& form) {
  std::vector<float> stored;
  for (const std::string& name : form.names) {
    const auto found = std::ranges::find(golden.tensors, name, &testing::GoldenTensor::name);
    if (found == golden.tensors.end()) return {};
    const auto part = testing::golden_weights(*found, found - golden.tensors.begin());
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
  const size_t each = stored.size() / form.names.size();
  std::map<std::string, std::vector<T>> tensors;
  for (size_t i = 0; i < form.names.size(); ++i) {
    const auto begin = stored.begin() + int64_t(i * each);
    tensors[form.names[i]] = {begin, begin + int64_t(each)};
  }
  return tensors;
}

struct PairTrialOptions {
  graph::Recompute policy = graph::Recompute::none;
  bool fused = false;
  int64_t head_unit = 1;
};

/// A micro-batch of a golden model, whose parameters are made of stored tensors.
class PairTrial {
 public:
  PairTrial(const testing::GoldenPairs& golden, const PairTrialOptions& options)
      : golden_(golden),
        model_(golden_model(golden)),
        graph_(make_graph(options)),
        naive_(graph_, 1) {
    fill("source", golden.source);
    fill("source_count", golden.source_count);
    fill("previous", golden.previous);
    fill("next", golden.next);
    auto& inputs = naive_.values<kernels::StepInputs>(graph_.step_inputs)[0];
    inputs = {};
    inputs.step = 1;
    inputs.counted_tokens = golden.counted;
    auto& state = naive_.values<kernels::StepState>(graph_.step_state)[0];
    state = {};
    state.loss_scale = 1;
    for (const graph::Parameter& parameter : graph_.parameters) set(parameter);
  }

  double loss() {
    auto& sums = naive_.values<kernels::StepSums>(graph_.output(graph::kLossOutput))[0];
    sums = {};
    naive_.run(0);
    return sums.loss.value() / double(golden_.counted);
  }

  /// Gradients of the stored tensors, by their names.
  std::map<std::string, std::vector<double>> gradients() {
    std::map<std::string, std::vector<double>> all;
    for (const graph::Parameter& parameter : graph_.parameters) {
      all.merge(stored_values<double>(form_of(parameter), real_extents(graph_, parameter),
                                      values(parameter, parameter.gradient)));
    }
    return all;
  }

 private:
  graph::Graph make_graph(const PairTrialOptions& options) const {
    const graph::Graph plain =
        differentiate(model::graph_of({.model = model_}, model::Purpose::train,
                                      {.micro = {.samples = golden_.samples,
                                                 .length = golden_.target_length,
                                                 .source_length = golden_.source_length},
                                       .chunk_rows = 5,
                                       .head_unit = options.head_unit}));
    const std::vector<graph::Recompute> policies(plain.blocks.size(), options.policy);
    const graph::Graph graph = recompute(plain, policies);
    return options.fused ? fuse(graph) : graph;
  }

  void fill(const char* input, const std::vector<int32_t>& ids) {
    std::ranges::copy(ids, naive_.values<int32_t>(graph_.input(input)).begin());
  }
  graph::StoredForm form_of(const graph::Parameter& parameter) const {
    return model::stored_form(model_, graph_[parameter.tensor].name);
  }
  std::span<float> values(const graph::Parameter& parameter, graph::TensorId tensor) {
    return naive_.values<float>(tensor).first(size_t(parameter.real_numel));
  }
  void set(const graph::Parameter& parameter) {
    std::ranges::fill(naive_.values<float>(parameter.tensor), 0.0f);
    const graph::StoredForm form = form_of(parameter);
    const std::vector<float> stored = golden_values(golden_, form);
    if (stored.empty()) return;
    graph::from_stored(form, real_extents(graph_, parameter), stored,
                       values(parameter, parameter.tensor));
  }

  const testing::GoldenPairs& golden_;
  model::Architecture model_;
  graph::Graph graph_;
  run::NaiveExecutor naive_;
};

inline void expect_golden_pairs(const testing::GoldenPairs& golden,
                                const PairTrialOptions& options) {
  PairTrial trial(golden, options);
  EXPECT_NEAR(trial.loss(), golden.loss, 1e-6 * golden.loss);
  const auto gradients = trial.gradients();
  for (const testing::GoldenTensor& tensor : golden.tensors) {
    ASSERT_TRUE(gradients.contains(tensor.name)) << tensor.name;
    const std::vector<double>& got = gradients.at(tensor.name);
    // The floor acts where a whole tensor's gradient is zero but for rounding, as that of the
    // biases of keys; the least of the others is 0.009.
    EXPECT_LE(testing::relative_l2(got, tensor.gradient, 0.005), 1e-5) << tensor.name;
  }
}

/// Both graphs that write texts have the parameters of `training`, in its order, and between them
/// every block of both stacks.
inline void expect_both_sides(const model::Architecture& model, const graph::Graph& training) {
  std::vector<graph::Graph> sides;
  for (const bool encodes : {true, false}) {
    sides.push_back(model::graph_of({.model = model}, model::Purpose::decode,
                                    {.chunk = {.length = 2,
                                               .context = 4,
                                               .texts = 3,
                                               .source_context = 5,
                                               .sources = 1,
                                               .encodes = encodes}}));
    ASSERT_EQ(sides.back().parameters.size(), training.parameters.size());
    for (size_t p = 0; p < training.parameters.size(); ++p) {
      const graph::Tensor& tensor = sides.back()[sides.back().parameters[p].tensor];
      EXPECT_EQ(tensor.name, training[training.parameters[p].tensor].name);
      EXPECT_EQ(tensor.shape, training[training.parameters[p].tensor].shape);
    }
  }
  std::set<std::string> read;
  for (const graph::Graph& side : sides) {
    for (const graph::Op& op : side.ops)
      for (const graph::TensorId input : op.inputs)
        if (input != graph::kNone) read.insert(side[input].name);
  }
  for (const graph::Parameter& parameter : training.parameters)
    EXPECT_TRUE(read.contains(training[parameter.tensor].name)) << training[parameter.tensor].name;
}

/// With every choice that repeats or joins operations.
inline void expect_golden_pairs(const std::string& name, int64_t head_unit = 1) {
  const testing::GoldenPairs golden = testing::load_golden_pairs(name);
  for (const auto policy :
       {graph::Recompute::none, graph::Recompute::selective, graph::Recompute::full}) {
    for (const bool fused : {false, true}) {
      SCOPED_TRACE(text(name, ", recompute ", int(policy), fused ? ", fused" : ""));
      expect_golden_pairs(golden, {policy, fused, head_unit});
    }
  }
}

}  // namespace zero::testing_support
