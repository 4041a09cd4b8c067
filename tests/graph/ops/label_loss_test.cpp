// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"
#include "zero/base/error.hpp"

namespace zero::graph {
namespace {

using zero::testing::TriedGraph;

constexpr int64_t kSamples = 3;

/// A word a sample, and from it logits of so many classes, or of a number.
Graph labelled(int64_t classes, bool scores) {
  GraphBuilder out({.samples = kSamples, .length = 1}, Dtype::f32);
  out.unit("only");
  const TensorId words = out.parameter({.name = "words", .shape = {5, 4}});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), words);
  const TensorId logits =
      linear(out, x, out.parameter({.name = "head", .shape = {4, classes}}), kNone);
  if (classes == 1) {
    squared_loss(out, {.logits = logits,
                       .labels = out.input({.name = "labels", .sample = {1}, .dtype = Dtype::f32}),
                       .scores = scores});
  } else {
    class_loss(out, {.logits = logits,
                     .labels = out.input({.name = "labels", .sample = {1}, .ids = classes}),
                     .scores = scores});
  }
  return out.finish();
}

TEST(LabelLossOps, HaveTheSlopesOfTheLoss) {
  for (bool scores : {false, true}) {
    TriedGraph classes(labelled(6, scores));
    std::ranges::copy(std::array{5, -1, 0}, classes.ids("labels").begin());
    classes.expect_slopes();
    TriedGraph number(labelled(1, scores));
    std::ranges::copy(std::array{0.5f, -1.0f, NAN},
                      number.values(number.graph().input("labels")).begin());
    number.expect_slopes();
  }
}

TEST(LabelLossOps, GiveTheHostTheLogitsOfEverySample) {
  TriedGraph tried(labelled(6, true));
  tried.loss();
  const Op& loss = first(tried.graph(), &kClassLossGrad);
  EXPECT_TRUE(std::ranges::equal(tried.values(tried.graph().output(kScoresOutput)),
                                 tried.values(loss.inputs[0])));
  EXPECT_THROW(differentiate(labelled(6, false)).output(kScoresOutput), Error);
}

TEST(LabelLossOps, EndTheForwardPass) {
  EXPECT_EQ(kinds(labelled(6, false)), "embedding linear class_loss");
  EXPECT_EQ(kinds(differentiate(labelled(1, true))),
            "embedding linear squared_loss linear_weight_grad linear_input_grad embedding_grad");
}

TEST(LabelLossRefusal, NamesLabelsThatDoNotFit) {
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId logits = out.activation("logits", Dtype::f32, {2, 3});
  const TensorId one = out.activation("one", Dtype::f32, {2, 1});
  const TensorId ids = out.activation("ids", Dtype::i32, {2});
  const TensorId more = out.activation("more", Dtype::i32, {8});
  EXPECT_NO_THROW(class_loss(out, {.logits = logits, .labels = ids}));
  EXPECT_THROW(class_loss(out, {.logits = logits, .labels = more}), Error);
  EXPECT_THROW(class_loss(out, {.logits = logits, .labels = one}), Error);
  EXPECT_NO_THROW(squared_loss(out, {.logits = one, .labels = one}));
  EXPECT_THROW(squared_loss(out, {.logits = one, .labels = ids}), Error);
  EXPECT_THROW(squared_loss(out, {.logits = logits, .labels = one}), Error);
}

}  // namespace
}  // namespace zero::graph
