// Ranks: 1

#include "src/save/fact_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "src/model/gpt2.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/save/checkpoint_facts.hpp"

namespace zero::save {
namespace {

using checkpoint::Manifest;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A checkpoint of two ranks after three steps, of which one was skipped.
Manifest good() {
  kernels::StepState state{};
  state.updates = 2;
  state.beta1_power = 0.81;
  state.beta2_power = 0.998001;
  state.skipped_in_row = 1;
  state.report.step = 3;
  state.report.skipped_in_row = 1;
  Manifest manifest;
  manifest.step = 3;
  manifest.ranks = 2;
  for (const char* name : {"rank00000.h5", "rank00001.h5", "checkpoint.h5"})
    manifest.files.emplace_back().name = name;
  add_state(state, manifest.facts);
  manifest.facts[kConfigurationFact] = "[optimizer]\nbetas = [0.9, 0.999]\n";
  return manifest;
}

std::string refusal(const std::function<void(Manifest&)>& change) {
  Manifest manifest = good();
  change(manifest);
  return testing_support::refusal_of(Exit::kInput, [&] { require_facts_fit(manifest, "m.json"); });
}

TEST(FactRules, TakeWhatATrainingLeaves) {
  EXPECT_EQ(refusal([](Manifest&) {}), "");
  EXPECT_EQ(refusal([](Manifest& m) { m.facts.clear(); }), "") << "weights that were imported";
  EXPECT_EQ(refusal([](Manifest& m) { m.facts["best.step"] = "3"; }), "");
  EXPECT_EQ(refusal([](Manifest& m) {
              m.facts["state.updates"] = "0";
              m.facts["state.beta1_power"] = m.facts["state.beta2_power"] = "0x1p+0";
            }),
            "");
  EXPECT_EQ(refusal([](Manifest& m) { m.facts["state.beta1_power"] = "0x0p+0"; }), "")
      << "a launch had a beta of 0, or its power became too small for a double";
}

TEST(FactRules, RefuseFactsThatContradictEachOther) {
  const std::pair<const char*, const char*> forged[] = {
      {"state.report.step", "2"},      {"state.report.step", "two"},
      {"state.updates", "4"},          {"state.updates", "3"},
      {"state.skipped_in_row", "4"},   {"state.report.skipped_in_row", "4"},
      {"state.beta1_power", "0x1p+0"}, {"best.step", "4"},
      {"patience.step", "4"}};
  for (const auto& [name, value] : forged) {
    const std::string said = refusal([&](Manifest& m) { m.facts[name] = value; });
    EXPECT_THAT(said, HasSubstr("m.json: fact \"")) << name;
  }
}

TEST(FactRules, SayWhatContradictsWhat) {
  const auto with = [](const char* name, const char* value) {
    return refusal([&](Manifest& m) { m.facts[name] = value; });
  };
  EXPECT_EQ(with("state.report.step", "2"),
            "m.json: fact \"state.report.step\": 2 in a checkpoint of step 3");
  EXPECT_EQ(with("state.updates", "4"), "m.json: fact \"state.updates\": 4 updates in 3 steps");
  EXPECT_THAT(with("state.updates", "3"), HasSubstr("1 in a row beside 3 updates in 3 steps"));
  EXPECT_EQ(with("state.beta2_power", "0x1p+0"),
            "m.json: fact \"state.beta2_power\": 1 after 2 updates");
  EXPECT_EQ(with("best.step", "4"), "m.json: fact \"best.step\": 4 in a checkpoint of step 3");
  EXPECT_EQ(refusal([](Manifest& m) { m.ranks = 8; }),
            "m.json: ranks: 8, but there are files of 2");
  EXPECT_THAT(refusal([](Manifest& m) { m.files.pop_back(); }), "") << "the index holds nothing";
}

Facts facts_of(const model::Architecture& model) {
  return {{"architecture", model::fact({model})}};
}

TEST(FactRules, RefuseADescriptionOfAnotherModel) {
  const model::Gpt2 model{.layers = 2, .width = 8, .heads = 2, .vocabulary = 10, .positions = 4};
  const auto refused = [&](const Facts& facts, const model::Gpt2& described) {
    return testing_support::refusal_of(
        Exit::kInput, [&] { require_model_fits(facts, model::Recipe{described}, "step"); });
  };
  EXPECT_EQ(refused(facts_of(model), model), "");
  EXPECT_EQ(refused({}, model), "") << "older ones say less";
  model::Gpt2 other = model;
  other.heads = 4;
  EXPECT_THAT(refused(facts_of(model), other),
              AllOf(HasSubstr("step: fact \"model\": describes gpt2 of 2 layers of 8 with 4 heads"),
                    HasSubstr("but fact \"architecture\" is gpt2 of 2 layers of 8 with 2 heads")));
  other = model;
  other.epsilon = 0.5f;
  EXPECT_THAT(refused(facts_of(model), other), HasSubstr("epsilon"));
  Facts imported = facts_of(model);
  imported["imported_from"] = "folder";
  EXPECT_EQ(refused(imported, other), "") << "earlier imports said nothing of it";
}

}  // namespace
}  // namespace zero::save
