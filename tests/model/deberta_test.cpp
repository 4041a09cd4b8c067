// Ranks: 1

#include "src/model/deberta.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/forward_of.hpp"
#include "tests/support/golden_trial.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

using ::testing::HasSubstr;
using testing_support::GoldenTrial;
using testing_support::parameters;
using testing_support::refusal_of;

const std::vector<std::string> kGolden = {"deberta_a", "deberta_b", "deberta_c", "deberta_d"};

constexpr Deberta kSmall{.layers = 2,
                         .width = 16,
                         .heads = 2,
                         .inner = 24,
                         .vocabulary = 70,
                         .buckets = 8,
                         .distance = 20,
                         .convolves = true,
                         .labels = 3};

graph::Graph small_graph(const Deberta& model, const graph::MicroBatch& micro = {2, 5}) {
  return forward_of(model, {.micro = micro, .compute = Dtype::f32, .training = true});
}

/// A golden file, and its model's graph for a micro-batch.
struct Case {
  explicit Case(const std::string& name)
      : golden(testing::load_golden_labels(name)),
        model(testing_support::golden_model(golden.hub)) {}

  graph::Graph forward(Purpose purpose, const graph::MicroBatch& micro) const {
    return graph_of({.model = model}, purpose, {.micro = micro});
  }
  graph::MicroBatch micro() const { return {.samples = golden.samples, .length = golden.length}; }
  bool is_number() const { return model.numbers.count("labels") == 1; }

  void fill(GoldenTrial& trial, const testing::GoldenLabelled& data) const {
    trial.fill("tokens", data.tokens);
    trial.fill("token_count", data.counts);
    if (is_number())
      trial.fill("labels", std::vector<float>(data.labels.begin(), data.labels.end()));
    else
      trial.fill("labels", std::vector<int32_t>(data.labels.begin(), data.labels.end()));
  }

  /// Logits of `data`, padded to `length`.
  std::vector<float> logits(const testing::GoldenLabelled& data, int64_t length) const {
    const auto samples = int64_t(data.counts.size());
    GoldenTrial trial(forward(Purpose::evaluate, {.samples = samples, .length = length}),
                      golden.tensors, std::max<int64_t>(data.counted, 1));
    fill(trial, data);
    trial.loss();
    const std::span<const float> scores = trial.output(graph::kScoresOutput);
    return {scores.begin(), scores.end()};
  }

  testing::GoldenLabels golden;
  Architecture model;
};

TEST(Deberta, ReproducesLossAndGradientsOfHuggingFace) {
  for (const std::string& name : kGolden) {
    const Case c(name);
    const graph::Graph forward = c.forward(Purpose::train, c.micro());
    testing_support::with_every_choice(name, 1, [&](const testing_support::TrialOptions& options) {
      GoldenTrial trial(step_graph(forward, options), c.golden.tensors, c.golden.data.counted);
      c.fill(trial, c.golden.data);
      trial.expect(c.golden.loss, c.golden.tensors);
    });
  }
}

TEST(Deberta, ReproducesTheLogitsOfHuggingFace) {
  for (const std::string& name : kGolden) {
    const Case c(name);
    const std::vector<float> logits = c.logits(c.golden.data, c.golden.length);
    ASSERT_EQ(logits.size(), c.golden.logits.size());
    for (size_t i = 0; i < logits.size(); ++i)
      EXPECT_NEAR(logits[i], c.golden.logits[i], 2e-6) << name << " " << i;
  }
}

/// The gradient of each of a unit's twice used tensors without the second use.
TEST(Deberta, WouldNotWithoutTheSecondUseOfAProjection) {
  const Case c("deberta_a");
  graph::Graph graph = differentiate(c.forward(Purpose::train, c.micro()));
  std::set<std::string> cut;
  std::erase_if(graph.ops, [&](const graph::Op& op) {
    const bool adds = op.kind == &graph::kAdd && graph[op.outputs[0]].role == graph::Role::gradient;
    if (adds) cut.insert(graph[graph[op.outputs[0]].parameter].name);
    return adds;
  });
  GoldenTrial trial(graph, c.golden.tensors, c.golden.data.counted);
  c.fill(trial, c.golden.data);
  trial.loss();
  const auto gradients = trial.gradients();
  for (const std::string layer : {"0", "1"}) {
    for (const std::string part : {"query_proj.weight", "query_proj.bias", "key_proj.weight"}) {
      const std::string name = "encoder.layer." + layer + ".attention.self." + part;
      EXPECT_TRUE(cut.contains(name)) << name;
      const auto tensor = std::ranges::find(c.golden.tensors, name, &testing::GoldenTensor::name);
      EXPECT_GT(testing::relative_l2(gradients.at(name), tensor->gradient, 0), 1e-3) << name;
    }
  }
}

/// Some samples of a batch, at another length.
testing::GoldenLabelled cut(const testing::GoldenLabels& golden, std::vector<int64_t> samples,
                            int64_t length) {
  testing::GoldenLabelled part{.tokens = {}, .counts = {}, .labels = {}, .counted = 0};
  for (const int64_t sample : samples) {
    for (int64_t t = 0; t < length; ++t) {
      const bool inside = t < golden.length;
      part.tokens.push_back(inside ? golden.data.tokens[size_t(sample * golden.length + t)] : 0);
    }
    part.counts.push_back(golden.data.counts[size_t(sample)]);
    part.labels.push_back(golden.data.labels[size_t(sample)]);
    part.counted += part.labels.back() >= 0;
  }
  return part;
}

TEST(Deberta, SeesNeitherPaddingNorNeighbours) {
  for (const std::string& name : kGolden) {
    const Case c(name);
    const std::vector<float> together = c.logits(c.golden.data, c.golden.length);
    const int64_t labels = c.model.numbers.count("labels");
    const auto own = [&](int64_t sample) {
      const auto begin = together.begin() + sample * labels;
      return std::vector<float>(begin, begin + labels);
    };
    for (int64_t sample = 0; sample < c.golden.samples; ++sample) {
      SCOPED_TRACE(text(name, ", sample ", sample));
      const auto alone = [&](int64_t length) {
        return c.logits(cut(c.golden, {sample}, length), length);
      };
      const int64_t least = std::max(c.golden.data.counts[size_t(sample)], 2);
      for (const int64_t length : {least, c.golden.length, c.golden.length + 11}) {
        const std::vector<float> logits = alone(length);
        for (int64_t i = 0; i < labels; ++i)
          EXPECT_NEAR(logits[size_t(i)], own(sample)[size_t(i)], 1e-6) << length;
      }
    }
  }
}

/// All lists of `count` of the numbers below `below`.
std::vector<std::vector<int64_t>> lists_of(int64_t below, int64_t count) {
  std::vector<std::vector<int64_t>> all = {{}};
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<std::vector<int64_t>> shorter = std::exchange(all, {});
    for (const std::vector<int64_t>& list : shorter) {
      for (int64_t next = 0; next < below; ++next) {
        all.push_back(list);
        all.back().push_back(next);
      }
    }
  }
  return all;
}

/// The logits of each sample at each place of a batch. Expects the same bytes of all batches.
class LogitsByPlace {
 public:
  LogitsByPlace(const Case& c, int64_t length) : case_(c), length_(length) {}

  void expect_same(const std::vector<int64_t>& samples) {
    const auto labels = size_t(case_.model.numbers.count("labels"));
    const std::vector<float> all = case_.logits(cut(case_.golden, samples, length_), length_);
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto begin = all.begin() + ptrdiff_t(i * labels);
      const std::vector<float> own(begin, begin + ptrdiff_t(labels));
      const auto& known = known_.try_emplace({samples[i], i}, own).first->second;
      EXPECT_EQ(std::memcmp(known.data(), own.data(), labels * sizeof(float)), 0)
          << "sample " << samples[i] << " at place " << i;
      EXPECT_THAT(own,
                  ::testing::Pointwise(::testing::FloatNear(1e-6f), known_.at({samples[i], 0})));
    }
  }

 private:
  const Case& case_;
  int64_t length_;
  /// A product's last rows may round otherwise than its first.
  std::map<std::pair<int64_t, size_t>, std::vector<float>> known_;
};

TEST(Deberta, GivesASampleTheSameBytesBesideAnyNeighboursOfItsBucket) {
  for (const std::string& name : kGolden) {
    const Case c(name);
    const int64_t samples = c.golden.samples;
    for (const int64_t length : {c.golden.length, c.golden.length + 11}) {
      SCOPED_TRACE(text(name, ", ", length, " tokens"));
      LogitsByPlace logits(c, length);
      for (int64_t sample = 0; sample < samples; ++sample)
        logits.expect_same(std::vector<int64_t>(size_t(samples), sample));
      for (const std::vector<int64_t>& list : lists_of(samples, samples)) logits.expect_same(list);
    }
  }
}

TEST(Deberta, DoesNotReadTheIdsOfPadding) {
  const Case c("deberta_a");
  testing::GoldenLabelled other = c.golden.data;
  for (int64_t i = 0; i < int64_t(other.tokens.size()); ++i)
    if (i % c.golden.length >= other.counts[size_t(i / c.golden.length)])
      other.tokens[size_t(i)] = 9;
  EXPECT_EQ(c.logits(other, c.golden.length), c.logits(c.golden.data, c.golden.length));
}

TEST(Deberta, HasThePublishedParameterCounts) {
  EXPECT_EQ(parameters("deberta-v2-xlarge"), 886'957'058);
  EXPECT_EQ(parameters("deberta-v2-xlarge-mnli"), 886'957'058);
  EXPECT_EQ(parameters("deberta-v2-xxlarge"), 1'566'913'538);
  EXPECT_EQ(parameters("deberta-v3-xsmall"), 70'830'722);
  EXPECT_EQ(parameters("deberta-v3-small"), 141'896'450);
  EXPECT_EQ(parameters("deberta-v3-base"), 184'423'682);
  EXPECT_EQ(parameters("deberta-v3-large"), 435'063'810);
  RunConfig config = testing_support::unset_config();
  config.model.name = "deberta-v2-xlarge";
  config.model.numbers.counts["labels"] = 3;
  EXPECT_EQ(parameter_count(recipe_of(config)), 886'957'058 + 1'537);
}

TEST(Deberta, AccountsForEveryTensorOfHuggingFacesFiles) {
  for (const std::string& name : kGolden) {
    const Case c(name);
    std::map<std::string, std::vector<int64_t>> stored, there;
    const graph::Graph graph = c.forward(Purpose::train, c.micro());
    for (const graph::Parameter& parameter : graph.parameters) {
      const auto extents = testing_support::real_extents(graph, parameter);
      for (size_t t = 0; t < parameter.stored.names.size(); ++t)
        stored[parameter.stored.names[t]] = stored_extents(parameter.stored, extents, t);
    }
    for (const testing::GoldenTensor& tensor : c.golden.tensors) there[tensor.name] = tensor.shape;
    EXPECT_EQ(stored, there) << name;
  }
}

TEST(Deberta, WritesThePrefixBeforeAllNamesButThoseOfTheHead) {
  const StoredNames& stored = deberta_family().stored;
  EXPECT_EQ(stored.written("encoder.rel_embeddings.weight"),
            "deberta.encoder.rel_embeddings.weight");
  EXPECT_EQ(stored.written("pooler.dense.bias"), "pooler.dense.bias");
  EXPECT_EQ(stored.written("classifier.weight"), "classifier.weight");
}

TEST(Deberta, KeepsTablesInOneUnitAndEachLayerInItsOwn) {
  const graph::Graph graph = small_graph(kSmall);
  EXPECT_THAT(graph.unit_names,
              ::testing::ElementsAre("embeddings", "encoder.layer.0", "encoder.layer.1", "head"));
  EXPECT_EQ(graph.blocks, (std::vector<int32_t>{1, 2}));
  std::map<std::string, int32_t> unit;
  int64_t real = 0;
  for (const graph::Parameter& each : graph.parameters) {
    unit[graph[each.tensor].name] = each.unit;
    real += each.real_numel;
  }
  EXPECT_EQ(real, parameter_count(kSmall));
  EXPECT_EQ(unit["encoder.rel_embeddings.weight"], 0);
  EXPECT_EQ(unit["encoder.LayerNorm.bias"], 0);
  EXPECT_EQ(unit["encoder.conv.conv.weight"], 1) << "beside the first layer";
  EXPECT_EQ(unit["pooler.dense.weight"], 3);
  EXPECT_EQ(unit["classifier.bias"], 3);
}

TEST(Deberta, DecaysMatricesAndTablesAlone) {
  const graph::Graph graph = small_graph(kSmall);
  for (const graph::Parameter& parameter : graph.parameters) {
    const std::string& name = graph[parameter.tensor].name;
    const bool is_norm = name.ends_with("LayerNorm.weight");
    EXPECT_EQ(parameter.decays, !is_norm && !name.ends_with(".bias")) << name;
    EXPECT_EQ(parameter.init, is_norm                   ? graph::Init::ones
                              : name.ends_with(".bias") ? graph::Init::zeros
                                                        : graph::Init::normal)
        << name;
    EXPECT_EQ(parameter.deviation_of(0), 0.02f) << name;
  }
}

TEST(Deberta, ProjectsOnlyTheRowsOfTheTableThatALengthReads) {
  Deberta model = kSmall;
  model.buckets = 32;
  model.distance = 64;
  const auto rows = [&](int64_t length) {
    const graph::Graph graph = small_graph(model, {.samples = 1, .length = length});
    std::set<int64_t> taken;
    for (const graph::Op& op : graph.ops)
      if (op.kind == &graph::kTakeRows && graph[op.inputs[0]].role == graph::Role::parameter)
        taken.insert(graph[op.outputs[0]].shape[0]);
    return taken;
  };
  EXPECT_EQ(rows(5), std::set<int64_t>{9});
  EXPECT_EQ(rows(17), std::set<int64_t>{33});
  EXPECT_EQ(*rows(200).begin(), 64) << "of both sides and distance 0, but the clamped one";
}

TEST(Deberta, CountsTheOperationsOfATokenAndItsShareOfTheTable) {
  // By hand: one layer of width 2, inner 3; texts of 4 tokens read 7 rows.
  Deberta model{.layers = 1, .width = 2, .heads = 1, .inner = 3, .vocabulary = 7};
  const double weights = 4 * 4 + 2 * 2 * 3, products = 2 * (4 + 7) * 2;
  const double head = 2 * (2 + 2) / 4.0;
  EXPECT_DOUBLE_EQ(flops_per_token(model, {.samples = 1, .length = 4}),
                   6 * (weights + 2 * 7 * 4 / 4.0 + products + head));
  EXPECT_DOUBLE_EQ(flops_per_token(model, {.samples = 2, .length = 4}),
                   6 * (weights + 2 * 7 * 4 / 8.0 + products + head));
  model.convolves = true;
  EXPECT_DOUBLE_EQ(flops_per_token(model, {.samples = 2, .length = 4}),
                   6 * (weights + 2 * 7 * 4 / 8.0 + products + head + 3 * 4));
}

TEST(Deberta, OfNumbersThatDoNotFitIsRefused) {
  const auto refusal = [](int64_t heads, int64_t buckets, int64_t distance) {
    Deberta model = kSmall;
    model.heads = heads;
    model.buckets = buckets;
    model.distance = distance;
    return refusal_of(Exit::kUsage, [&] { small_graph(model); });
  };
  EXPECT_EQ(refusal(2, 8, 6), "");
  EXPECT_THAT(refusal(3, 8, 6), HasSubstr("a width that is a multiple of heads"));
  EXPECT_THAT(refusal(2, 8, 5), HasSubstr("8 buckets of distances up to 5"));
  EXPECT_THAT(refusal(2, 1, 50), HasSubstr("write 2 buckets or more"));
}

TEST(Deberta, WritesNoTexts) {
  EXPECT_THAT(refusal_of(Exit::kUsage, [] { require_decode({.model = kSmall}); }),
              HasSubstr("a DeBERTa writes no texts"));
}

}  // namespace
}  // namespace zero::model
