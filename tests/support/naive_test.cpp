// Ranks: 1

#include "tests/support/naive.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "src/model/gpt2.hpp"
#include "tests/support/forward_of.hpp"
#include "tests/support/golden.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operations.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::run {
namespace {

using graph::Graph;
using graph::Parameter;
using graph::Recompute;

/// A model whose data and weights are those of a golden file, in any dtype.
struct Case {
  const testing::Golden& golden;
  Dtype compute = Dtype::f32;
  float dropout = 0;
  int64_t chunk_rows = 0;
  int64_t positions = 0;  ///< 0: as many as a sample has tokens
  Recompute policy = Recompute::none;
  bool fused = false;
  int64_t head_unit = 1;
};

Graph make_graph(const Case& c) {
  const model::Gpt2 model{.layers = c.golden.layers,
                          .width = c.golden.width,
                          .heads = c.golden.heads,
                          .vocabulary = c.golden.vocabulary,
                          .positions = c.positions ? c.positions : c.golden.length,
                          .dropout = c.dropout};
  const Graph plain = differentiate(graph::pad_heads(
      model::forward_of(model, {.micro = {.samples = c.golden.batch, .length = c.golden.length},
                                .compute = c.compute,
                                .training = true,
                                .chunk_rows = c.chunk_rows}),
      c.head_unit));
  const Graph graph = recompute(plain, std::vector<Recompute>(plain.blocks.size(), c.policy));
  return c.fused ? fuse(graph) : graph;
}

/// A graph with an executor whose inputs are filled.
class Trial {
 public:
  explicit Trial(const Case& c) : graph_(make_graph(c)), naive_(graph_, 1) {
    const testing::GoldenBatch batch = testing::golden_batch(c.golden, 0);
    std::ranges::copy(batch.tokens, naive_.values<int32_t>(graph_.input("tokens")).begin());
    std::ranges::copy(batch.targets, naive_.values<int32_t>(graph_.input("targets")).begin());
    inputs() = {};
    inputs().seed = 7;
    inputs().step = 1;
    inputs().counted_tokens = batch.counted;
    state() = {};
    state().loss_scale = 1;
    sums() = {};
    for (size_t i = 0; i < c.golden.tensors.size(); ++i) {
      const std::vector<float> weights = testing::golden_weights(c.golden, int64_t(i));
      set_weights(parameter(c.golden.tensors[i].name), weights);
    }
  }

  const Graph& graph() const { return graph_; }
  NaiveExecutor& naive() { return naive_; }
  kernels::StepInputs& inputs() {
    return naive_.values<kernels::StepInputs>(graph_.step_inputs)[0];
  }
  kernels::StepState& state() { return naive_.values<kernels::StepState>(graph_.step_state)[0]; }
  kernels::StepSums& sums() {
    return naive_.values<kernels::StepSums>(graph_.output(graph::kLossOutput))[0];
  }

  /// The mean loss of one micro-batch.
  double loss(int64_t sample_offset = 0) {
    sums() = {};
    naive_.run(sample_offset);
    return sums().loss.value() / double(inputs().counted_tokens);
  }

  const Parameter& parameter(const std::string& name) const {
    for (const Parameter& candidate : graph_.parameters) {
      if (graph_[candidate.tensor].name == name) return candidate;
    }
    ZERO_REQUIRE(false, "no parameter ", name);
    return graph_.parameters[0];
  }

  /// Elements of an fp32 tensor that are no padding.
  std::span<float> values(const Parameter& parameter, graph::TensorId tensor) {
    return naive_.values<float>(tensor).first(size_t(parameter.real_numel));
  }

 private:
  template <class T>
  void fill(graph::TensorId tensor, std::span<const float> weights) {
    std::span<T> values = naive_.values<T>(tensor);
    std::ranges::fill(values, T(0.0f));
    std::ranges::transform(weights, values.begin(), [](float w) { return T(w); });
  }

  void set_weights(const Parameter& parameter, std::span<const float> weights) {
    switch (graph_[parameter.tensor].dtype) {
      case Dtype::f32:
        return fill<float>(parameter.tensor, weights);
      case Dtype::bf16:
        return fill<bf16>(parameter.tensor, weights);
      default:
        return fill<f16>(parameter.tensor, weights);
    }
  }

  Graph graph_;
  NaiveExecutor naive_;
};

double norm(std::span<const float> values) {
  double squares = 0;
  for (float value : values) squares += double(value) * value;
  return std::sqrt(squares);
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

void expect_golden(const std::string& name, int64_t chunk_rows, int64_t head_unit = 1,
                   Recompute policy = Recompute::none) {
  const testing::Golden golden = testing::load_golden(name);
  Trial trial({.golden = golden,
               .chunk_rows = chunk_rows,
               .policy = policy,
               .fused = head_unit > 1,
               .head_unit = head_unit});
  const double loss = trial.loss();
  EXPECT_NEAR(loss, golden.loss, 1e-6 * golden.loss) << name;
  for (const testing::GoldenTensor& tensor : golden.tensors) {
    const Parameter& parameter = trial.parameter(tensor.name);
    const std::span<float> gradient = trial.values(parameter, parameter.gradient);
    const std::vector<double> got(gradient.begin(), gradient.end());
    // The floor acts where a whole tensor's gradient is zero but for rounding.
    EXPECT_LE(testing::relative_l2(got, tensor.gradient, 1e-3), 1e-5) << name << " " << tensor.name;
  }
}

TEST(NaiveExecutor, ReproducesGoldenLossAndGradients) {
  expect_golden("gpt2_a", 0);
  expect_golden("gpt2_b", 0);
}

TEST(NaiveExecutor, ReproducesGoldenValuesWhenTheClassifierWorksInUnevenChunks) {
  expect_golden("gpt2_a", 5);
  expect_golden("gpt2_b", 7);
}

TEST(NaiveExecutor, ReproducesGoldenValuesWhereHeadsEndWithZeros) {
  for (Recompute policy : {Recompute::none, Recompute::selective, Recompute::full}) {
    for (int64_t unit : {7, 24}) {
      expect_golden("gpt2_a", 0, unit, policy);
      expect_golden("gpt2_b", 0, unit, policy);
    }
  }
}

TEST(NaiveExecutor, GivesKeyBiasesNoGradientBecauseSoftmaxIgnoresAShift) {
  const testing::Golden golden = testing::load_golden("gpt2_a");
  Trial trial({.golden = golden});
  trial.loss();
  const Parameter& bias = trial.parameter("h.0.attn.c_attn.bias");
  const std::span<float> gradient = trial.values(bias, bias.gradient);
  const size_t width = size_t(golden.width);
  EXPECT_LT(norm(gradient.subspan(width, width)), 1e-6 * norm(gradient.first(width)) + 1e-7);
}

TEST(NaiveExecutor, HasTheGradientOfItsOwnLossUnderDropout) {
  const testing::Golden golden = testing::load_golden("gpt2_a");
  Trial trial({.golden = golden, .dropout = 0.1f});
  // Moving 0.01 along the gradient one way and the other changes the loss by 0.02 |g|, at least
  // 0.001 here. The loss, about 4, is good to about 1e-6 of itself, so the quotient to 0.4 %; its
  // third derivative adds less.
  const double step = 0.01;
  for (const Parameter& parameter : trial.graph().parameters) {
    const std::string& name = trial.graph()[parameter.tensor].name;
    trial.loss();
    const std::span<float> gradient = trial.values(parameter, parameter.gradient);
    const std::vector<float> direction(gradient.begin(), gradient.end());
    const std::span<float> weights = trial.values(parameter, parameter.tensor);
    const std::vector<float> start(weights.begin(), weights.end());
    const double size = norm(direction);
    ASSERT_GT(size, 0.05) << name;
    const auto loss_at = [&](double distance) {
      for (size_t i = 0; i < start.size(); ++i) {
        weights[i] = float(double(start[i]) + distance * double(direction[i]) / size);
      }
      return trial.loss();
    };
    const double slope = (loss_at(step) - loss_at(-step)) / (2 * step);
    EXPECT_NEAR(slope, size, 0.005 * size) << name;
    std::ranges::copy(start, weights.begin());
  }
}

TEST(NaiveExecutor, ScalesGradientsByTheLossScale) {
  const testing::Golden golden = testing::load_golden("gpt2_a");
  Trial plain({.golden = golden}), scaled({.golden = golden});
  scaled.state().loss_scale = 1024;
  EXPECT_EQ(plain.loss(), scaled.loss());
  const Parameter& bias = plain.parameter("ln_f.bias");
  const std::span<float> small = plain.values(bias, bias.gradient);
  const std::span<float> large = scaled.values(bias, bias.gradient);
  for (size_t i = 0; i < small.size(); ++i) EXPECT_EQ(large[i], 1024 * small[i]);
}

TEST(NaiveExecutor, WritesZerosToTheGradientOfPaddingAndOfUnusedPositions) {
  const testing::Golden golden = testing::load_golden("gpt2_a");
  Trial trial({.golden = golden, .positions = golden.length + 3});
  // The golden weights fill the first `length` positions, and what follows is zero.
  EXPECT_NEAR(trial.loss(), golden.loss, 1e-6 * golden.loss);
  const auto rest = [&](const char* name, int64_t rows) {
    const graph::TensorId gradient = trial.parameter(name).gradient;
    return trial.naive().values<float>(gradient).subspan(size_t(rows * golden.width));
  };
  EXPECT_EQ(rest("wpe.weight", golden.length).size(), size_t(3 * golden.width));
  for (float value : rest("wpe.weight", golden.length)) EXPECT_EQ(value, 0.0f);
  EXPECT_EQ(rest("wte.weight", golden.vocabulary).size(), size_t(3 * golden.width));
  for (float value : rest("wte.weight", golden.vocabulary)) EXPECT_EQ(value, 0.0f);
}

TEST(NaiveExecutor, DropsByGlobalSampleWhereverTheMicroBatchBegins) {
  const testing::Golden golden = testing::load_golden("gpt2_a");
  Trial one({.golden = golden, .dropout = 0.1f}), other({.golden = golden, .dropout = 0.1f});
  other.inputs().first_sample = 2;
  EXPECT_EQ(one.loss(2), other.loss(0));
  EXPECT_NE(one.loss(0), other.loss(0));
}

/// Gradients under a policy, in parameter order.
std::vector<std::byte> gradients(const Case& c) {
  Trial trial(c);
  trial.state().loss_scale = 64;
  EXPECT_TRUE(std::isfinite(trial.loss()));
  std::vector<std::byte> all;
  for (const Parameter& parameter : trial.graph().parameters) {
    const std::span<std::byte> bytes = trial.naive().bytes(parameter.gradient);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

TEST(NaiveExecutor, ComputesTheSameBitsWhateverIsRecomputed) {
  const testing::Golden golden = testing::load_golden("gpt2_b");
  for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const auto with = [&](Recompute policy) {
      return gradients({.golden = golden, .compute = compute, .dropout = 0.1f, .policy = policy});
    };
    const std::vector<std::byte> kept = with(Recompute::none);
    EXPECT_TRUE(same_bytes(with(Recompute::selective), kept)) << name_of(compute);
    EXPECT_TRUE(same_bytes(with(Recompute::full), kept)) << name_of(compute);
  }
}

TEST(NaiveExecutor, ComputesTheSameBitsOneKernelBehindTheOtherAsFused) {
  const testing::Golden golden = testing::load_golden("gpt2_b");
  for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    for (Recompute policy : {Recompute::none, Recompute::selective, Recompute::full}) {
      Case c{.golden = golden, .compute = compute, .dropout = 0.1f, .policy = policy};
      const std::vector<std::byte> apart = gradients(c);
      const size_t ops = make_graph(c).ops.size();
      c.fused = true;
      EXPECT_LT(make_graph(c).ops.size(), ops);
      EXPECT_TRUE(same_bytes(gradients(c), apart)) << name_of(compute) << " " << int(policy);
    }
  }
}

/// Three products one behind the other, each with weights of its own or all with the first's.
Graph three_products(bool shared) {
  graph::GraphBuilder out({.samples = 1, .length = 2}, Dtype::f32);
  out.unit("embedding");
  const graph::TensorId table = out.parameter({.name = "table", .shape = {8, 4}});
  const graph::TensorId positions = out.parameter({.name = "positions", .shape = {2, 4}});
  const graph::TensorId tokens = out.input({.name = "tokens", .sample = {2}, .ids = 8});
  const graph::TensorId targets = out.input({.name = "targets", .sample = {2}, .ids = 8});
  graph::TensorId x = embedding(out, tokens, table, positions);
  graph::TensorId weight = graph::kNone, bias = graph::kNone;
  for (const char* unit : {"a", "b", "c"}) {
    out.unit(unit);
    if (weight == graph::kNone || !shared) {
      weight = out.parameter({.name = text(unit, ".weight"), .shape = {4, 4}});
      bias = out.parameter({.name = text(unit, ".bias"), .shape = {4}});
    }
    x = linear(out, x, weight, bias);
  }
  classifier(out, x, table, targets, 8, 2);
  return differentiate(out.finish());
}

/// Gradients of the parameters, whose values are the same for the same place in their tensor.
std::vector<std::vector<float>> gradients_of(const Graph& graph) {
  NaiveExecutor naive(graph, 1);
  for (const graph::TensorId ids : {graph.input("tokens"), graph.input("targets")}) {
    std::ranges::copy(std::array{3, 5}, naive.values<int32_t>(ids).begin());
  }
  naive.values<kernels::StepInputs>(graph.step_inputs)[0] = {};
  naive.values<kernels::StepInputs>(graph.step_inputs)[0].counted_tokens = 2;
  naive.values<kernels::StepState>(graph.step_state)[0] = {};
  naive.values<kernels::StepState>(graph.step_state)[0].loss_scale = 1;
  naive.values<kernels::StepSums>(graph.output(graph::kLossOutput))[0] = {};
  for (const Parameter& parameter : graph.parameters) {
    float place = 0;
    for (float& value : naive.values<float>(parameter.tensor)) value = std::sin(++place);
  }
  naive.run(0);
  std::vector<std::vector<float>> gradients;
  for (const Parameter& parameter : graph.parameters) {
    const std::span<const float> values = naive.values<float>(parameter.gradient);
    gradients.emplace_back(values.begin(), values.end());
  }
  return gradients;
}

TEST(NaiveExecutor, AddsTheGradientsOfASharedWeightFromItsLastUseToItsFirst) {
  const auto shared = gradients_of(three_products(true)), own = gradients_of(three_products(false));
  ASSERT_EQ(shared.size(), 4u);
  ASSERT_EQ(own.size(), 8u);
  for (size_t p : {2, 3}) {  // weight and bias of the first product, then of the others
    for (size_t i = 0; i < shared[p].size(); ++i) {
      EXPECT_EQ(shared[p][i], (own[p + 4][i] + own[p + 2][i]) + own[p][i]);
    }
  }
}

TEST(NaiveExecutor, IsCloseToFp32In16Bits) {
  // bf16 keeps 8 bits and fp16 11; a loss near 5 passes a few dozen roundings of mixed signs.
  const testing::Golden golden = testing::load_golden("gpt2_b");
  Trial coarse({.golden = golden, .compute = Dtype::bf16});
  EXPECT_NEAR(coarse.loss(), golden.loss, 0.01 * golden.loss);
  Trial fine({.golden = golden, .compute = Dtype::f16});
  EXPECT_NEAR(fine.loss(), golden.loss, 0.00125 * golden.loss);
}

}  // namespace
}  // namespace zero::run
