// Ranks: 1

#include "zero/kernels/classifier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/compile/compile.hpp"
#include "zero/graph/token_scores.hpp"

namespace zero::graph {
namespace {

using zero::testing::TriedGraph;

Graph with(const ClassifierOptions& options) {
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 6}, .padding_rows = 3});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table);
  classifier(out, x, table, tiny_ids(out, "targets"), options);
  return out.finish();
}

ClassifierOptions scaled_options(float scale, float smoothing) {
  return {.vocabulary = 5, .chunk_rows = 3, .logit_scale = scale, .label_smoothing = smoothing};
}

TEST(ClassifierOp, HasTheSlopesOfAScaledAndSmoothedLoss) {
  for (float scale : {1.0f, 0.5f}) {
    for (float smoothing : {0.0f, 0.2f})
      TriedGraph(with(scaled_options(scale, smoothing))).expect_slopes();
  }
}

TEST(ClassifierOp, HasTheSlopesOfACappedLoss) {
  for (float scale : {1.0f, 0.5f}) {
    ClassifierOptions capped = scaled_options(scale, 0.1f);
    capped.cap = 0.5f;
    TriedGraph tried(with(capped));
    tried.expect_slopes();
    EXPECT_NE(tried.loss(), TriedGraph(with(scaled_options(scale, 0.1f))).loss());
  }
}

TEST(ClassifierOp, SmoothedNearlyWhollyAsksForEqualProbabilities) {
  // log 5 is the loss where all are equal, and the least that a smoothed one can be.
  TriedGraph equal(with(scaled_options(0.0f, 0.999f)));
  EXPECT_NEAR(equal.loss(), 8 * std::log(5.0), 1e-5);
  EXPECT_GT(TriedGraph(with(scaled_options(1.0f, 0.999f))).loss(), 8 * std::log(5.0));
}

TEST(ClassifierOp, AddsABiasWhoseGradientIsZero) {
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 6}});
  const TensorId bias = out.parameter({.name = "bias", .shape = {8}, .decays = false});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table);
  ClassifierOptions biased = scaled_options(0.0f, 0.0f);
  biased.logit_bias = bias;
  classifier(out, x, table, tiny_ids(out, "targets"), biased);
  TriedGraph tried(out.finish());
  const std::vector<float> logits = {0.0f, std::log(2.0f), 0.0f, std::log(4.0f), 0.0f, 9, 9, 9};
  std::ranges::copy(logits, tried.values(bias).begin());
  std::ranges::fill(tried.ids("targets"), 3);
  // Probabilities are ninths: 1, 2, 1, 4, 1.
  EXPECT_NEAR(tried.loss(), 8 * std::log(9.0 / 4), 1e-5);
  for (float slope : tried.values(tried.graph().parameters[1].gradient)) EXPECT_EQ(slope, 0.0f);
}

/// A classifier with a table of its own, of three rows more than classes, and a bias that is
/// trained.
Graph biased_graph(const ClassifierOptions& given, Dtype compute = Dtype::f32) {
  GraphBuilder out({.samples = 2, .length = 4}, compute);
  out.unit("only");
  const int64_t rows = given.vocabulary + 3;
  const auto ids = [&](const std::string& name) {
    return out.input({.name = name, .sample = {4}, .ids = given.vocabulary});
  };
  const TensorId tokens = out.parameter({.name = "tokens.weight", .shape = {rows, 6}});
  const TensorId x = embedding(out, ids("tokens"), tokens);
  const TensorId table = out.parameter({.name = "table", .shape = {rows, 6}, .padding_rows = 3});
  ClassifierOptions biased = given;
  biased.bias = out.parameter(
      {.name = "bias", .shape = {rows}, .decays = false, .init = Init::zeros, .padding_rows = 3});
  classifier(out, x, table, ids("targets"), biased);
  return out.finish();
}

TEST(ClassifierOp, HasTheSlopesOfABiasThatIsTrained) {
  for (float smoothing : {0.0f, 0.2f})
    TriedGraph(biased_graph(scaled_options(1.0f, smoothing))).expect_slopes();
  TriedGraph kept(freeze(biased_graph(scaled_options(1.0f, 0.0f)), {false, true, false}));
  kept.expect_slopes();
}

TEST(ClassifierOp, TrainsABiasToTheSameBytesAtEveryStage) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16}) {
    const Graph graph = differentiate(biased_graph({.vocabulary = 61, .chunk_rows = 3}, compute));
    const auto trained = [&](int ranks, int stage) {
      plan::Request request;
      request.reproducible = true;
      request.compute = compute;
      request.stage = stage, request.ranks = ranks, request.micro_batches = 4 / ranks;
      const plan::Plan plan = plan::compile(request, graph, {});
      zero::testing::ThreadRanks machine(plan, zero::testing::tiny_rules(compute));
      return zero::testing::train(machine, plan, 3).state;
    };
    const std::vector<std::byte> one = trained(1, 0);
    for (int stage = 0; stage <= 3; ++stage) EXPECT_EQ(trained(2, stage), one) << stage;
    EXPECT_EQ(trained(4, 3), one);
  }
}

TEST(ClassifierOp, RefusesATrainedBiasBesideAnotherOrAScale) {
  ClassifierOptions scaled = scaled_options(0.5f, 0.0f);
  EXPECT_THROW(biased_graph(scaled), Error);
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 6}});
  const TensorId bias = out.parameter({.name = "bias", .shape = {8}});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table);
  ClassifierOptions both = scaled_options(1.0f, 0.0f);
  both.bias = both.logit_bias = bias;
  EXPECT_THROW(classifier(out, x, table, tiny_ids(out, "targets"), both), Error);
}

TEST(ClassifierOp, RefusesABiasOfAnotherLength) {
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 6}});
  const TensorId bias = out.parameter({.name = "bias", .shape = {5}});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table);
  const ClassifierOptions biased{.vocabulary = 5, .chunk_rows = 3, .logit_bias = bias};
  try {
    classifier(out, x, table, tiny_ids(out, "targets"), biased);
    FAIL() << "a bias of 5 for 8 rows";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("bias [5] does not fit table [8, 6]"));
  }
}

TEST(ClassifierOp, ScoresItsTargetsForTheHost) {
  GraphBuilder out({.samples = 1, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 6}});
  const TensorId bias = out.parameter({.name = "bias", .shape = {8}, .decays = false});
  ClassifierOptions biased = scaled_options(0.0f, 0.0f);
  biased.logit_bias = bias;
  classifier(out, embedding(out, tiny_ids(out, "tokens"), table), table, tiny_ids(out, "targets"),
             biased);
  const Graph graph = score_tokens(out.finish());
  EXPECT_THROW(differentiate(graph), Error) << "an evaluation alone has them";
  run::NaiveExecutor naive(graph, 1);
  naive.values<kernels::StepInputs>(graph.step_inputs)[0] = {};
  naive.values<kernels::StepState>(graph.step_state)[0] = {};
  naive.values<kernels::StepSums>(graph.output(kLossOutput))[0] = {};
  std::ranges::fill(naive.values<float>(table), 1.0f);
  // Probabilities are ninths: 1, 2, 1, 4, 1.
  const std::vector<float> logits = {0.0f, std::log(2.0f), 0.0f, std::log(4.0f), 0.0f, 9, 9, 9};
  std::ranges::copy(logits, naive.values<float>(bias).begin());
  std::ranges::fill(naive.values<int32_t>(graph.input("tokens")), 0);
  std::ranges::copy(std::array{3, 1, -1, 4}, naive.values<int32_t>(graph.input("targets")).begin());
  naive.run(0);
  const auto scores = naive.values<kernels::TokenScore>(graph.output(kTokenScoresOutput));
  const std::array expected = {std::log(4.0f / 9), std::log(2.0f / 9), 0.0f, std::log(1.0f / 9)};
  ASSERT_EQ(scores.size(), expected.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    EXPECT_NEAR(scores[i].log_probability, expected[i], 1e-6);
    EXPECT_EQ(scores[i].is_likeliest, float(i == 0));
  }
}

TEST(ClassifierOp, IsWhatScoresTokens) {
  EXPECT_THROW(score_tokens(Graph{}), Error);
  const Graph plain = with(scaled_options(1, 0)), scored = score_tokens(plain);
  EXPECT_THROW(plain.output(kTokenScoresOutput), Error);
  EXPECT_EQ(scored[scored.output(kTokenScoresOutput)].shape, Shape({8, 2}));
}

/// The logits of one row of a chunk whose products are 25 and -50.
std::vector<float> logits_of(const LogitOptions& options) {
  GraphBuilder out({.length = 1, .context = 2}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {2, 1}});
  const TensorId tokens = out.input({.name = "tokens", .sample = {1}, .ids = 2});
  logits(out, embedding(out, tokens, table), table, options);
  const Graph graph = out.finish();
  run::NaiveExecutor naive(graph, 1);
  naive.values<int32_t>(graph.input("tokens"))[0] = 0;
  std::ranges::copy(std::array{5.0f, -10.0f}, naive.values<float>(table).begin());
  naive.values<kernels::DecodeInputs>(graph.decode_inputs)[0] = {.rows = 1, .logits = 1};
  naive.values<int32_t>(graph.input(kLogitRowsInput))[0] = 0;
  naive.values<kernels::ChunkRow>(graph.input(kRowsInput))[0] = {};
  naive.run(0);
  const std::span<float> made = naive.values<float>(graph.output(kLogitsOutput));
  return {made.begin(), made.end()};
}

TEST(LogitsOp, AreScaledAndThenCapped) {
  EXPECT_EQ(logits_of({.vocabulary = 2}), (std::vector<float>{25, -50}));
  EXPECT_EQ(logits_of({.vocabulary = 2, .scale = 0.5f}), (std::vector<float>{12.5f, -25}));
  const std::vector<float> capped = logits_of({.vocabulary = 2, .scale = 0.5f, .cap = 10});
  EXPECT_NEAR(capped[0], 10 * std::tanh(1.25), 1e-5);
  EXPECT_NEAR(capped[1], 10 * std::tanh(-2.5), 1e-5);
  EXPECT_THROW(logits_of({.vocabulary = 2, .cap = -1}), Error);
}

}  // namespace
}  // namespace zero::graph
