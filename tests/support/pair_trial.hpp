#pragma once
/// Tiny encoder-decoders of golden files, compared with Hugging Face's classes.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/golden_trial.hpp"

namespace zero::testing_support {

inline model::Architecture golden_model(const testing::GoldenPairs& golden) {
  model::Architecture model = golden_model(golden.hub);
  model.numbers.rates["label_smoothing"] = golden.label_smoothing;
  return model;
}

inline void expect_golden_pairs(const testing::GoldenPairs& golden, const TrialOptions& options) {
  const graph::Graph forward =
      model::graph_of({.model = golden_model(golden)}, model::Purpose::train,
                      {.micro = {.samples = golden.samples,
                                 .length = golden.target_length,
                                 .source_length = golden.source_length},
                       .chunk_rows = 5,
                       .head_unit = options.head_unit});
  GoldenTrial trial(step_graph(forward, options), golden.tensors, golden.counted);
  trial.fill("source", golden.source);
  trial.fill("source_count", golden.source_count);
  trial.fill("previous", golden.previous);
  trial.fill("next", golden.next);
  trial.expect(golden.loss, golden.tensors);
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

inline void expect_golden_pairs(const std::string& name, int64_t head_unit = 1) {
  const testing::GoldenPairs golden = testing::load_golden_pairs(name);
  with_every_choice(name, head_unit,
                    [&](const TrialOptions& options) { expect_golden_pairs(golden, options); });
}

}  // namespace zero::testing_support
