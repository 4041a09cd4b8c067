// Ranks: 1
// LAMB by the tensors of Hugging Face's files, which encoder-decoders pack into parameters: after
// twenty steps the weights are those of LAMB in float64, at the same bits everywhere.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/model/blenderbot.hpp"
#include "src/model/t5.hpp"
#include "tests/support/one_outcome.hpp"
#include "tests/support/optimizer_state.hpp"

namespace zero::run {
namespace {

constexpr OptimizerConfig kLamb{.type = OptimizerType::LAMB};
constexpr float kRate = 0.01f, kDecay = 0.1f;

constexpr model::T5 kT5{.layers = 2,
                        .decoder_layers = 2,
                        .width = 16,
                        .heads = 2,
                        .head_width = 12,
                        .inner = 24,
                        .vocabulary = 61,
                        .buckets = 8,
                        .distance = 6};
constexpr model::Blenderbot kBlenderbot{.layers = 1,
                                        .decoder_layers = 2,
                                        .width = 16,
                                        .heads = 2,
                                        .inner = 24,
                                        .decoder_inner = 32,
                                        .vocabulary = 61,
                                        .positions = 8};

/// LAMB in float64 of the tensors of one parameter, as Hugging Face stores them.
class StoredLamb {
 public:
  StoredLamb(std::span<const float> weights, int64_t tensors, bool decays)
      : decay_(decays ? double(kDecay) : 0),
        weights_(weights.begin(), weights.end()),
        moments_(weights.size()),
        numel_(weights.size() / size_t(tensors)) {}

  void update(std::span<const float> gradient, int number) {
    std::vector<double> u(weights_.size());
    for (size_t i = 0; i < u.size(); ++i)
      u[i] = moments_[i].direction(gradient[i], number) + decay_ * weights_[i];
    for (size_t first = 0; first < u.size(); first += numel_) {
      const double weight = norm(weights_, first), length = norm(u, first);
      const bool has_ratio = weight > 0 && length > 0;
      const double ratio = has_ratio ? std::clamp(weight / length, 0.01, 10.0) : 1;
      for (size_t i = first; i < first + numel_; ++i) weights_[i] -= double(kRate) * ratio * u[i];
    }
  }

  double largest_difference(std::span<const float> weights) const {
    double most = 0;
    for (size_t i = 0; i < weights.size(); ++i)
      most = std::max(most, std::abs(double(weights[i]) - weights_[i]));
    return most;
  }

 private:
  double norm(const std::vector<double>& of, size_t first) const {
    double squares = 0;
    for (size_t i = first; i < first + numel_; ++i) squares += of[i] * of[i];
    return std::sqrt(squares);
  }

  double decay_;
  std::vector<double> weights_;
  std::vector<testing::Moments> moments_;
  size_t numel_;
};

/// A training on one rank, whose gradients a StoredLamb for each parameter takes too.
class Beside {
 public:
  explicit Beside(const model::Architecture& model)
      : model_(model),
        plan_(testing::tiny_plan({.optimizer = form_of(kLamb), .weight_decay = kDecay},
                                 {.other = model, .evaluates = false})),
        rules_(rules()),
        machine_(plan_, rules_) {
    testing::fill_states(machine_, plan_, rules_);
    visit([&](const plan::Unit& unit, const plan::UnitParameter& place) {
      references_.emplace_back(stored(unit.weight, place),
                               int64_t(form_of_stored(place).names.size()),
                               parameter(place).decays);
    });
  }

  void step(int number) {
    const kernels::StepInputs inputs = testing::tiny_inputs(plan_, number);
    testing::fill_batch(machine_, plan_, inputs.first_sample);
    machine_.run(plan::kStep, inputs);
    size_t at = 0;
    visit([&](const plan::Unit& unit, const plan::UnitParameter& place) {
      references_[at++].update(stored(unit.gradient, place), number);
    });
  }

  void expect_same_weights(int steps) {
    machine_.run(plan::kFinish, testing::tiny_inputs(plan_, steps + 1));
    size_t at = 0;
    visit([&](const plan::Unit& unit, const plan::UnitParameter& place) {
      EXPECT_LE(references_[at++].largest_difference(stored(unit.weight, place)), 1e-6)
          << name(place);
    });
  }

 private:
  static Rules rules() {
    Rules rules;
    rules.decide.learning_rates = &kRate;
    rules.decide.learning_rate_count = 1;
    rules.optimizer.settings = kLamb;
    return rules;
  }

  template <class Visit>
  void visit(const Visit& visit) const {
    for (const plan::Unit& unit : plan_.units)
      for (const plan::UnitParameter& place : unit.parameters) visit(unit, place);
  }
  const graph::Parameter& parameter(const plan::UnitParameter& place) const {
    return plan_.graphs[0].parameters[size_t(place.parameter)];
  }
  std::string name(const plan::UnitParameter& place) const {
    return plan_.graphs[0][parameter(place).tensor].name;
  }
  model::StoredForm form_of_stored(const plan::UnitParameter& place) const {
    return model::stored_form(model_, name(place));
  }

  /// A parameter's part of a unit's array, tensor by tensor.
  std::vector<float> stored(int32_t buffer, const plan::UnitParameter& place) {
    const Shape& shape = plan_.graphs[0][parameter(place).tensor].shape;
    std::vector<int64_t> extents;
    for (int axis = 0; axis < shape.rank(); ++axis) extents.push_back(shape[axis]);
    std::vector<float> tensors(size_t(place.numel));
    model::to_stored(form_of_stored(place), extents,
                     {machine_.view<float>(0, buffer) + place.begin, size_t(place.numel)}, tensors);
    return tensors;
  }

  const model::Architecture model_;
  const plan::Plan plan_;
  const Rules rules_;
  testing::ThreadRanks machine_;
  std::vector<StoredLamb> references_;
};

TEST(StoredNorms, AreThoseOfFloat64AfterTwentySteps) {
  for (const model::Architecture& model :
       {model::Architecture(kT5), model::Architecture(kBlenderbot)}) {
    Beside training(model);
    for (int step = 1; step <= 20; ++step) training.step(step);
    training.expect_same_weights(20);
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
       {model::Architecture(kT5), model::Architecture(kBlenderbot)}) {
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
