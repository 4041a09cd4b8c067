// Ranks: 1
// LAMB by the tensors of Hugging Face's files, which encoder-decoders pack into parameters. After
// twenty steps the weights are those that PyTorch made in float64 (tools/golden/lamb_golden.py),
// and the same bits on all ranks, stages and homes.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/one_outcome.hpp"
#include "tests/support/pair_trial.hpp"
#include "tests/support/tiny_encoder_decoders.hpp"
#include "zero/compile/compile.hpp"

namespace zero::run {
namespace {

using testing::GoldenLamb;
using testing::GoldenPairs;
using testing::kTinyBlenderbot;
using testing::kTinyT5;

constexpr OptimizerConfig kLamb{.type = OptimizerType::LAMB};
constexpr float kDecay = 0.1f;

using Weights = std::map<std::string, std::vector<float>>;

struct Manner {
  int ranks;
  int stage;
  bool packed_norms = false;  ///< a fault: a trust ratio for each parameter
};

/// A training of a golden model on its one batch, a sample in each of four micro-batches. A
/// micro-batch beyond the samples counts no target.
class LambTraining {
 public:
  LambTraining(const GoldenPairs& pairs, const GoldenLamb& lamb, const Manner& manner)
      : pairs_(pairs),
        lamb_(lamb),
        model_(testing_support::golden_model(pairs)),
        rate_(float(lamb.optimizer.lr)),
        plan_(plan_of(manner)),
        machine_(plan_, rules()) {
    for (int rank = 0; rank < manner.ranks; ++rank) {
      *machine_.view<kernels::StepState>(rank, plan_.step_state) =
          kernels::initial_step_state(rules().decide);
    }
    for (const plan::Unit& unit : plan_.units) set(unit);
  }

  /// Returns the stored tensors after the golden number of steps.
  Weights train() {
    for (int64_t step = 1; step <= lamb_.steps; ++step) {
      fill_batch();
      machine_.run(plan::kStep, inputs(step));
    }
    machine_.run(plan::kFinish, inputs(lamb_.steps + 1));
    Weights weights;
    for (const plan::Unit& unit : plan_.units) add_tensors(unit, weights);
    return weights;
  }

 private:
  static constexpr int kMicroBatches = 4;

  plan::Plan plan_of(const Manner& manner) const {
    testing::TinyModel tiny;
    tiny.other = model_;
    tiny.micro = {
        .samples = 1, .length = pairs_.target_length, .source_length = pairs_.source_length};
    graph::Graph graph = testing::tiny_training_graph(tiny, Dtype::f32);
    if (manner.packed_norms) {
      for (graph::Parameter& parameter : graph.parameters) parameter.stored.names.resize(1);
    }
    return plan::compile({.stage = manner.stage,
                          .ranks = manner.ranks,
                          .micro_batches = kMicroBatches / manner.ranks,
                          .optimizer = form_of(lamb_.optimizer),
                          .weight_decay = float(lamb_.optimizer.weight_decay)},
                         graph, {});
  }

  Rules rules() const {
    Rules rules;
    rules.decide.beta1 = lamb_.optimizer.betas[0];
    rules.decide.beta2 = lamb_.optimizer.betas[1];
    rules.decide.learning_rates = &rate_;
    rules.decide.learning_rate_count = 1;
    rules.optimizer.settings = lamb_.optimizer;
    return rules;
  }

  kernels::StepInputs inputs(int64_t step) const {
    kernels::StepInputs inputs{};
    inputs.step = step;
    inputs.counted_tokens = inputs.pending_tokens = pairs_.counted;
    inputs.pending = step > 1;
    inputs.pending_step = step - 1;
    return inputs;
  }

  void fill_batch() {
    for (const plan::InputBuffer& input : plan_.inputs) {
      if (input.filled_by != graph::FilledBy::data) continue;
      for (int i = 0; i < kMicroBatches; ++i) {
        const int ranks = plan_.request.ranks;
        std::ranges::copy(sample_of(input.name, i),
                          testing::inputs_of(machine_, i % ranks, input, i / ranks));
      }
    }
  }

  std::vector<int32_t> sample_of(const std::string& input, int64_t number) const {
    const std::vector<int32_t>& column = input == "source"         ? pairs_.source
                                         : input == "source_count" ? pairs_.source_count
                                         : input == "previous"     ? pairs_.previous
                                                                   : pairs_.next;
    const auto each = int64_t(column.size()) / pairs_.samples;
    if (number < pairs_.samples) {
      const auto begin = column.begin() + number * each;
      return {begin, begin + each};
    }
    const int32_t nothing = input == "next" ? -1 : input == "source_count" ? 1 : 0;
    return std::vector(size_t(each), nothing);
  }

  const graph::Parameter& parameter(const plan::UnitParameter& place) const {
    return plan_.graphs[0].parameters[size_t(place.parameter)];
  }
  graph::StoredForm form_of_stored(const plan::UnitParameter& place) const {
    return model::stored_form(model_, plan_.graphs[0][parameter(place).tensor].name);
  }
  std::vector<int64_t> extents(const plan::UnitParameter& place) const {
    return testing_support::real_extents(plan_.graphs[0], parameter(place));
  }

  /// Calls visit(weights of a rank, the part of `whole` that they are).
  template <class Visit>
  void for_each_rank(const plan::Unit& unit, std::span<float> whole, const Visit& visit) {
    for (int rank = 0; rank < plan_.request.ranks; ++rank) {
      const auto numel = size_t(unit.weight_sharded ? unit.shard_numel : unit.numel);
      const size_t begin = unit.weight_sharded ? size_t(rank) * numel : 0;
      visit(std::span(machine_.view<float>(rank, unit.weight), numel), whole.subspan(begin, numel));
    }
  }

  void set(const plan::Unit& unit) {
    std::vector<float> whole(size_t(unit.numel));
    for (const plan::UnitParameter& place : unit.parameters) {
      const graph::StoredForm form = form_of_stored(place);
      const std::vector<float> stored = testing_support::golden_values(pairs_.tensors, form);
      if (stored.empty()) continue;
      graph::from_stored(form, extents(place), stored,
                         std::span(whole).subspan(size_t(place.begin), stored.size()));
    }
    for_each_rank(unit, whole, [](std::span<float> own, std::span<const float> part) {
      std::ranges::copy(part, own.begin());
    });
  }

  void add_tensors(const plan::Unit& unit, Weights& weights) {
    std::vector<float> whole(size_t(unit.numel));
    for_each_rank(unit, whole, [](std::span<const float> own, std::span<float> part) {
      std::ranges::copy(own, part.begin());
    });
    for (const plan::UnitParameter& place : unit.parameters) {
      const std::span<const float> values =
          std::span(whole).subspan(size_t(place.begin), size_t(parameter(place).real_numel));
      weights.merge(
          testing_support::stored_values<float>(form_of_stored(place), extents(place), values));
    }
  }

  const GoldenPairs& pairs_;
  const GoldenLamb& lamb_;
  const model::Architecture model_;
  const float rate_;
  const plan::Plan plan_;
  testing::ThreadRanks machine_;
};

/// True of a bias that softmax takes out again: its gradient is rounding alone, which LAMB makes as
/// long a step of as of any other.
bool is_rounding(const std::string& tensor) { return tensor.ends_with(".k_proj.bias"); }

/// The relative errors of a training.
struct Errors {
  double whole;
  std::map<std::string, double> tensors;
};

Errors errors_of(const std::string& name, const Manner& manner) {
  const GoldenLamb lamb = testing::load_golden_lamb(name);
  const GoldenPairs pairs = testing::load_golden_pairs(lamb.pairs);
  const Weights weights = LambTraining(pairs, lamb, manner).train();
  Errors errors{};
  std::vector<double> got, expected;
  for (const auto& [tensor, values] : lamb.weights) {
    if (is_rounding(tensor)) continue;
    const std::vector<double> one(weights.at(tensor).begin(), weights.at(tensor).end());
    const std::vector<double> other(values.begin(), values.end());
    errors.tensors[tensor] = testing::relative_l2(one, other, 1e-6);
    got.insert(got.end(), one.begin(), one.end());
    expected.insert(expected.end(), other.begin(), other.end());
  }
  errors.whole = testing::relative_l2(got, expected, 1e-6);
  return errors;
}

TEST(StoredNorms, AreThoseOfFloat64AfterTwentySteps) {
  for (const std::string name : {"lamb_t5_c", "lamb_blenderbot_a"}) {
    for (const int ranks : {1, 2, 4}) {
      for (const int stage : {0, 1, 2, 3}) {
        SCOPED_TRACE(text(name, ", ", ranks, " ranks, stage ", stage));
        const Errors errors = errors_of(name, {ranks, stage});
        EXPECT_LE(errors.whole, 1e-6);
        for (const auto& [tensor, error] : errors.tensors) EXPECT_LE(error, 4e-6) << tensor;
      }
    }
  }
}

TEST(StoredNorms, OfParametersWouldBeFarFromFloat64) {
  for (const std::string name : {"lamb_t5_c", "lamb_blenderbot_a"}) {
    EXPECT_GT(errors_of(name, {.ranks = 2, .stage = 3, .packed_norms = true}).whole, 1e-3) << name;
  }
}

testing::Case case_of(const model::Architecture& model, Dtype compute, int ranks, int stage) {
  return {.request = {.stage = stage,
                      .ranks = ranks,
                      .micro_batches = 4 / ranks,
                      .compute = compute,
                      .optimizer = form_of(kLamb),
                      .weight_decay = kDecay,
                      .reproducible = true},
          .optimizer = kLamb,
          .steps = compute == Dtype::f16 ? 16 : 5,
          .other = model};
}

TEST(StoredNorms, AreTheSameBitsOnAllRanksStagesAndHomes) {
  using plan::Tier;
  for (const model::Architecture& model :
       {model::Architecture(kTinyT5), model::Architecture(kTinyBlenderbot)}) {
    for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      testing::OneOutcome one;
      for (const auto& [ranks, stage] : {std::pair{1, 0}, {2, 1}, {2, 3}, {4, 2}, {4, 3}})
        one.expect(case_of(model, compute, ranks, stage));
      for (const Tier home : {Tier::host, Tier::nvme}) {
        testing::Case moved = case_of(model, compute, 2, 3);
        moved.request.optimizer_home = moved.request.weight_home = home;
        moved.request.device_update_share = home == Tier::host ? 0.5 : 0;
        one.expect(moved);
      }
    }
  }
}

}  // namespace
}  // namespace zero::run
