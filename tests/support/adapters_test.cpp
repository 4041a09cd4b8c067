// Ranks: 1
// Adapters beside a product are what a merged weight is: W + scale A B, computed in float64.

#include "tests/support/adapters.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "src/model/gpt2.hpp"
#include "tests/support/slopes.hpp"

namespace zero::testing {
namespace {

constexpr model::Gpt2 kTiny{.layers = 2, .width = 8, .heads = 2, .vocabulary = 11, .positions = 6};
constexpr float kScale = 1.5f;
constexpr int64_t kRank = 3;

using Matrices = std::map<std::string, std::vector<float>>;

graph::Graph forward(const std::vector<model::Alteration>& alterations) {
  return model::graph_of({.model = kTiny, .alterations = alterations}, model::Purpose::train,
                         {.micro = {.samples = 2, .length = 6}});
}

Matrices values_of(TriedGraph& tried, bool gradients) {
  Matrices all;
  for (const graph::Parameter& parameter : tried.graph().parameters) {
    const graph::TensorId tensor = gradients ? parameter.gradient : parameter.tensor;
    if (tensor == graph::kNone) continue;
    const std::span<float> values = tried.values(tensor);
    all[tried.graph()[parameter.tensor].name] = {values.begin(), values.end()};
  }
  return all;
}

/// The adapter of a part of a weight of [in, columns].
struct Part {
  std::string weight, a, b;
  int64_t in, columns, first, width;
};

std::vector<Part> parts_of(const graph::Graph& graph) {
  std::vector<Part> parts;
  for (const graph::Parameter& parameter : graph.parameters) {
    const std::string& name = graph[parameter.tensor].name;
    for (const AdapterTarget& target : kGpt2Targets) {
      if (!name.ends_with(target.weight)) continue;
      const std::string stem = name.substr(0, name.size() - 6);
      const std::string end = text(".", target.part, ".weight");
      const Shape& shape = graph[parameter.tensor].shape;
      const int64_t width = shape[1] / target.parts;
      parts.push_back({name, stem + "lora_A" + end, stem + "lora_B" + end, shape[0], shape[1],
                       target.number * width, width});
    }
  }
  return parts;
}

/// Sets the weights of the plain model to W + scale A B.
void merge(const std::vector<Part>& parts, const Matrices& from, TriedGraph& plain) {
  Matrices merged = from;
  for (const Part& part : parts) {
    const std::vector<float>&a = from.at(part.a), &b = from.at(part.b);
    for (int64_t i = 0; i < part.in; ++i) {
      for (int64_t j = 0; j < part.width; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < kRank; ++k)
          sum += double(a[size_t(i * kRank + k)]) * double(b[size_t(k * part.width + j)]);
        float& w = merged.at(part.weight)[size_t(i * part.columns + part.first + j)];
        w = float(double(w) + double(kScale) * sum);
      }
    }
  }
  for (const graph::Parameter& parameter : plain.graph().parameters) {
    std::ranges::copy(merged.at(plain.graph()[parameter.tensor].name),
                      plain.values(parameter.tensor).begin());
  }
}

TEST(Adapters, HaveLossAndGradientsOfTheMergedWeight) {
  TriedGraph adapted(forward({adapting({.rank = kRank, .scale = kScale})}));
  TriedGraph plain(forward({}));
  for (const char* input : {"tokens", "targets"})
    std::ranges::copy(adapted.ids(input), plain.ids(input).begin());
  const Matrices weights = values_of(adapted, false);
  const std::vector<Part> parts = parts_of(plain.graph());
  ASSERT_EQ(parts.size(), 2u * kGpt2Targets.size());
  merge(parts, weights, plain);
  EXPECT_NEAR(adapted.loss(), plain.loss(), 2e-5);
  const Matrices got = values_of(adapted, true), whole = values_of(plain, true);
  EXPECT_EQ(got.size(), 2 * parts.size()) << "only A and B are trained";
  for (const Part& part : parts) {
    const std::vector<float>&a = weights.at(part.a), &b = weights.at(part.b),
          &dw = whole.at(part.weight);
    const auto dw_at = [&](int64_t i, int64_t j) {
      return double(dw[size_t(i * part.columns + part.first + j)]);
    };
    for (int64_t k = 0; k < kRank; ++k) {
      for (int64_t j = 0; j < part.width; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < part.in; ++i) sum += double(a[size_t(i * kRank + k)]) * dw_at(i, j);
        ASSERT_NEAR(got.at(part.b)[size_t(k * part.width + j)], double(kScale) * sum, 2e-5)
            << part.b;
      }
      for (int64_t i = 0; i < part.in; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < part.width; ++j)
          sum += double(b[size_t(k * part.width + j)]) * dw_at(i, j);
        ASSERT_NEAR(got.at(part.a)[size_t(i * kRank + k)], double(kScale) * sum, 2e-5) << part.a;
      }
    }
  }
}

TEST(Adapters, OfAFamilysOwnWeightsBorrowTheRest) {
  const graph::Graph graph = forward({adapting({.rank = kRank})});
  for (const graph::Parameter& parameter : graph.parameters) {
    const bool is_adapter = graph[parameter.tensor].name.find("lora_") != std::string::npos;
    EXPECT_EQ(parameter.borrowed, !is_adapter) << graph[parameter.tensor].name;
    EXPECT_EQ(parameter.frozen, !is_adapter);
  }
  EXPECT_TRUE(graph::borrows(graph));
}

}  // namespace
}  // namespace zero::testing
