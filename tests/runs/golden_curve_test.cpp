// Ranks: 1
// Twenty steps of AdamW against curves that PyTorch made in float64 (tools/golden/gpt2_golden.py,
// deberta_golden.py, decoder_golden.py), through compiled plans on several stages and rank counts.
// ZERO_TEST_STAGES=all takes every decoder through all of them, and not through one each.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/curve_training.hpp"
#include "tests/support/decoder_trial.hpp"
#include "tests/support/golden_trial.hpp"
#include "tests/support/tiny_plans.hpp"

namespace zero::run {
namespace {

plan::Request request_of(const testing::GoldenCurve& curve, int ranks, int stage) {
  return {.stage = stage,
          .ranks = ranks,
          .micro_batches = int(curve.micro_batches) / ranks,
          .weight_decay = float(curve.weight_decay)};
}

/// Copies an input of the micro-batch that is the i-th of a step over all ranks.
template <class T>
void fill(testing::Machine& machine, const plan::Plan& plan, const std::string& input, int64_t i,
          const std::vector<T>& values) {
  static_assert(sizeof(T) == sizeof(int32_t));
  const int ranks = plan.request.ranks;
  int32_t* const to =
      testing::inputs_of(machine, int(i % ranks), plan.input(0, input), int(i / ranks));
  std::ranges::copy(std::as_bytes(std::span(values)), reinterpret_cast<std::byte*>(to));
}

plan::Plan gpt2_plan(const testing::Golden& golden, int ranks, int stage) {
  testing::TinyModel model;
  model.gpt2 = {.layers = golden.layers,
                .width = golden.width,
                .heads = golden.heads,
                .vocabulary = golden.vocabulary,
                .positions = golden.length};
  model.micro = {.samples = golden.batch, .length = golden.length};
  return testing::tiny_plan(request_of(*golden.curve, ranks, stage), model);
}

TEST(GoldenCurve, TwentyStepsFollowFloat64OnEveryStage) {
  const testing::Golden golden = testing::load_golden("gpt2_a");
  ASSERT_TRUE(golden.curve.has_value());
  const auto weights = [&](const graph::Graph& graph, const graph::Parameter& parameter) {
    return testing_support::golden_values(golden.tensors,
                                          {.names = {graph[parameter.tensor].name}});
  };
  const auto fill_step = [&](testing::Machine& machine, const plan::Plan& plan, int64_t step) {
    int64_t counted = 0;
    for (int64_t i = 0; i < golden.curve->micro_batches; ++i) {
      const testing::GoldenBatch batch =
          testing::golden_batch(golden, testing::golden_stream(*golden.curve, step - 1, i));
      fill(machine, plan, "tokens", i, batch.tokens);
      fill(machine, plan, "targets", i, batch.targets);
      counted += batch.counted;
    }
    return counted;
  };
  testing::on_every_stage([&](int ranks, int stage) {
    testing::CurveTraining(*golden.curve, gpt2_plan(golden, ranks, stage), weights, fill_step)
        .expect_curve();
  });
}

/// Returns the first weights of a parameter whose stored tensors a file says.
auto weights_of(const std::vector<testing::GoldenTensor>& tensors) {
  return [&tensors](const graph::Graph& graph, const graph::Parameter& parameter) {
    const std::vector<float> stored = testing_support::golden_values(tensors, parameter.stored);
    std::vector<float> values(stored.size());
    graph::from_stored(parameter.stored, testing_support::real_extents(graph, parameter), stored,
                       values);
    return values;
  };
}

plan::Plan labels_plan(const testing::GoldenLabels& golden, int ranks, int stage) {
  testing::TinyModel model;
  model.other = testing_support::golden_model(golden.hub);
  model.micro = {.samples = golden.samples, .length = golden.length};
  return testing::tiny_plan(request_of(*golden.curve, ranks, stage), model);
}

TEST(GoldenCurve, TwentyStepsOfAClassifierDo) {
  for (const char* name : {"deberta_a", "deberta_b", "deberta_d"}) {
    SCOPED_TRACE(name);
    const testing::GoldenLabels golden = testing::load_golden_labels(name);
    ASSERT_TRUE(golden.curve.has_value());
    const auto fill_step = [&](testing::Machine& machine, const plan::Plan& plan, int64_t step) {
      const int64_t micro_batches = golden.curve->micro_batches;
      int64_t counted = 0;
      for (int64_t i = 0; i < micro_batches; ++i) {
        const testing::GoldenLabelled& data =
            golden.curve_data.at(size_t((step - 1) * micro_batches + i));
        fill(machine, plan, "tokens", i, data.tokens);
        fill(machine, plan, "token_count", i, data.counts);
        fill(machine, plan, "labels", i,
             std::vector<int32_t>(data.labels.begin(), data.labels.end()));
        counted += data.counted;
      }
      return counted;
    };
    testing::on_every_stage([&](int ranks, int stage) {
      testing::CurveTraining(*golden.curve, labels_plan(golden, ranks, stage),
                             weights_of(golden.tensors), fill_step)
          .expect_curve();
    });
  }
}

void expect_decoder_curve(const testing::GoldenDecoder& golden, int ranks, int stage) {
  testing::TinyModel model;
  model.other = testing_support::golden_model(golden.hub);
  model.micro = {.samples = 1, .length = golden.length};
  model.packed = !golden.first.empty();
  model.evaluates = false;
  const int64_t vocabulary = model::data_form(*model.other).vocabulary;
  const auto fill_step = [&](testing::Machine& machine, const plan::Plan& plan, int64_t step) {
    int64_t counted = 0;
    for (int64_t i = 0; i < golden.curve.micro_batches; ++i) {
      const testing::GoldenRow row = testing::golden_row(golden, vocabulary, step - 1, i);
      fill(machine, plan, "tokens", i, row.tokens);
      fill(machine, plan, "targets", i, row.targets);
      if (model.packed) fill(machine, plan, model::kFirstInput, i, row.first);
      counted += row.counted;
    }
    return counted;
  };
  testing::CurveTraining(golden.curve,
                         testing::tiny_plan(request_of(golden.curve, ranks, stage), model),
                         weights_of(golden.tensors), fill_step)
      .expect_curve();
}

TEST(GoldenCurve, TwentyStepsOfEachDecoderDo) {
  const char* const stages = std::getenv("ZERO_TEST_STAGES");
  const bool takes_all = stages != nullptr && std::string_view(stages) == "all";
  int number = 0;
  for (const char* name : testing_support::kGoldenDecoders) {
    SCOPED_TRACE(name);
    const testing::GoldenDecoder golden = testing::load_golden_decoder(name);
    int choice = 0;
    testing::on_every_stage([&](int ranks, int stage) {
      if (takes_all || choice++ == number % 4) expect_decoder_curve(golden, ranks, stage);
    });
    ++number;
  }
}

}  // namespace
}  // namespace zero::run
