// Ranks: 1
#include "zero/save/checkpoint_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/model/t5.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tiny_plans.hpp"

namespace zero::save {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::optional<state::Evaluation> best_of_pairs(const Facts& facts) {
  return best_in(facts, model::pair_objective());
}

/// An evaluation with the metrics of the loss and, if given, of texts.
state::Evaluation evaluation_of(double loss, std::vector<double> of_texts = {}) {
  const auto& metrics = model::pair_objective().settings.metrics;
  state::Evaluation evaluation{.step = 40, .loss = loss, .counted = 7};
  evaluation.measure(metrics, MetricSource::loss);
  for (size_t i = 0; i < of_texts.size(); ++i) {
    evaluation.metrics.push_back({&metrics[1 + i], of_texts[i]});
  }
  evaluation.texts = of_texts.empty() ? 0 : 500;
  return evaluation;
}

TEST(CheckpointFacts, TheBestEvaluationComesBackBitForBit) {
  Facts facts;
  EXPECT_FALSE(best_of_pairs(facts));
  add_best(evaluation_of(1.0 / 3), facts);
  EXPECT_THAT(facts, ElementsAre(Pair("best.eval_loss", _), Pair("best.eval_tokens", "7"),
                                 Pair("best.step", "40")));
  ASSERT_TRUE(best_of_pairs(facts));
  EXPECT_EQ(best_of_pairs(facts)->step, 40);
  EXPECT_EQ(best_of_pairs(facts)->loss, 1.0 / 3);
  EXPECT_EQ(best_of_pairs(facts)->counted, 7);
  EXPECT_EQ(best_of_pairs(facts)->texts, 0);
  facts["best.step"] = "many";
  EXPECT_FALSE(best_of_pairs(facts));
}

TEST(CheckpointFacts, TheBestEvaluationComesBackWithWhatItsTextsWereWorth) {
  Facts facts;
  add_best(evaluation_of(2, {100.0 / 3, 1.0 / 7}), facts);
  EXPECT_EQ(facts.count("best.bleu") + facts.count("best.exact_match"), 2u);
  ASSERT_TRUE(best_of_pairs(facts));
  EXPECT_EQ(best_of_pairs(facts)->texts, 500);
  EXPECT_EQ(best_of_pairs(facts)->measured("bleu")->value, 100.0 / 3);
  EXPECT_EQ(best_of_pairs(facts)->measured("exact_match")->value, 1.0 / 7);
}

TEST(CheckpointFacts, TheBestEvaluationComesBackWithAMetricThatIsUndefined) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto& metrics = model::label_objective().settings.metrics;
  state::Evaluation best{.step = 40, .loss = 1, .counted = 7, .counted_by = kBySample};
  best.metrics.push_back({&metrics[0], 1.0 / 3});
  best.metrics.push_back({&metrics[3], nan});
  EXPECT_TRUE(std::isnan(merit_of(best, "pearson"))) << "which is never the best";
  Facts facts;
  add_best(best, facts);
  const auto read = best_in(facts, model::label_objective());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->measured("accuracy")->value, 1.0 / 3);
  EXPECT_TRUE(std::isnan(read->measured("pearson")->value));
  EXPECT_EQ(read->measured("f1"), nullptr);
}

TEST(Merit, IsMoreWhereLossesAreLessAndTextsAreBetter) {
  const auto merit = [](double loss, double bleu, double exact, std::string_view metric) {
    return merit_of(evaluation_of(loss, {bleu, exact}), metric);
  };
  for (const std::string_view metric : {kLossMetric, std::string_view("perplexity")}) {
    EXPECT_GT(merit(1, 0, 0, metric), merit(2, 9, 1, metric));
    EXPECT_GT(merit(1000, 0, 0, metric), merit(2000, 9, 1, metric)) << "too large for a double";
    EXPECT_TRUE(std::isnan(merit(std::numeric_limits<double>::quiet_NaN(), 9, 1, metric)));
  }
  EXPECT_GT(merit(2, 9, 0, "bleu"), merit(1, 8, 1, "bleu"));
  EXPECT_GT(merit(2, 8, 1, "exact_match"), merit(1, 9, 0, "exact_match"));
  EXPECT_TRUE(std::isnan(merit_of(evaluation_of(1), "bleu"))) << "of no texts";
}

TEST(Patience, CountsEvaluationsBehindTheBestAndComesBack) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Patience patience;
  std::vector<int64_t> counts;
  for (const double merit : {nan, -3.0, -2.0, -2.0, nan, -2.5, -1.0, -1.5}) {
    patience.hear(int64_t(10 + counts.size()), merit);
    patience.hear(int64_t(10 + counts.size()), merit);  // of a launch whose end is made good
    counts.push_back(patience.evaluations);
  }
  EXPECT_THAT(counts, ElementsAre(-1, 0, 0, 1, 2, 3, 0, 1));
  Facts facts;
  add_patience(patience, "perplexity", facts);
  EXPECT_EQ(facts.at("patience.metric"), "perplexity") << "and no number that an update may shift";
  EXPECT_EQ(patience_in(facts, "perplexity").merit, -1.0);
  EXPECT_EQ(patience_in(facts, "perplexity").evaluations, 1);
  EXPECT_EQ(patience_in(facts, "perplexity").step, 17);
  EXPECT_EQ(patience_in(facts, "bleu").evaluations, -1) << "of another metric";
  CheckpointConfig config;
  config.best_metric = "perplexity";
  EXPECT_FALSE(is_out_of_patience(facts, config));
  config.patience = 1;
  EXPECT_TRUE(is_out_of_patience(facts, config));
  config.patience = 2;
  EXPECT_FALSE(is_out_of_patience(facts, config));
  Facts none;
  add_patience({}, "bleu", none);
  EXPECT_THAT(none, IsEmpty());
}

TEST(CheckpointFacts, FastAttentionStandsInTheRecordAndAResumeSaysSo) {
  RunConfig config;
  EXPECT_EQ(attention_text("cuDNN 9.19.0", config), "cuDNN 9.19.0, ");
  config.numerics.attention = AttentionOrder::fast;
  EXPECT_EQ(attention_text("", config), "") << "our own kernels are deterministic";
  const Facts fast = {{"arithmetic", attention_text("cuDNN 9.19.0", config) + "1 thread a rank"}};
  const Facts fixed = {{"arithmetic", "cuDNN 9.19.0, 1 thread a rank"}};
  EXPECT_TRUE(adds_in_any_order(fast));
  EXPECT_FALSE(adds_in_any_order(fixed) || adds_in_any_order({}));
  EXPECT_EQ(any_order_note(fixed, fixed), "");
  for (const std::string& note : {any_order_note(fast, fixed), any_order_note(fixed, fast)}) {
    EXPECT_THAT(note, HasSubstr("numerics.attention = \"fast\": the bytes are not those"));
  }
  EXPECT_THAT(changes_since(fixed, fast, false).listed,
              ElementsAre(HasSubstr("now cuDNN 9.19.0 with sums in any order")));
}

TEST(CheckpointFacts, OtherClassesAreRefusedEvenWithOtherData) {
  const Facts saved = {{"classes", R"(["no", "yes"])"}, {"data", "1"}};
  const Facts now = {{"classes", R"(["yes", "no"])"}, {"data", "2"}};
  EXPECT_EQ(changes_since(saved, now, true).refused,
            R"(classes are ["no", "yes"] there and ["yes", "no"] now; write data.labels = )"
            R"(["no", "yes"])");
  EXPECT_EQ(changes_since(saved, saved, false).refused, "");
}

TEST(CheckpointFacts, AnotherOrderOfSumsIsListed) {
  EXPECT_EQ(order_text(1), "") << "records of before had no word of it";
  EXPECT_EQ(order_text(2), "order of sums 2, ");
  const Facts first = {{"arithmetic", "cuBLASLt, sm_90, 1 threads a rank"}};
  const Facts second = {{"arithmetic", "cuBLASLt, sm_90, " + order_text(2) + "1 threads a rank"}};
  EXPECT_THAT(changes_since(first, second, false).listed,
              ElementsAre(HasSubstr("now cuBLASLt, sm_90, order of sums 2, ")));
}

plan::Plan plan_of(OptimizerType optimizer, const testing::TinyModel& model) {
  return testing::tiny_plan({.optimizer = form_of({.type = optimizer})}, model);
}

TEST(CheckpointFacts, NormsOfStoredTensorsAreNewToACheckpointOfBefore) {
  const testing::TinyModel pairs{.other = model::Architecture(model::T5{.layers = 1,
                                                                        .decoder_layers = 1,
                                                                        .width = 16,
                                                                        .heads = 2,
                                                                        .head_width = 8,
                                                                        .inner = 16,
                                                                        .vocabulary = 61})};
  EXPECT_TRUE(has_stored_norms(plan_of(OptimizerType::LAMB, pairs)));
  EXPECT_FALSE(has_stored_norms(plan_of(OptimizerType::AdamW, pairs)));
  EXPECT_FALSE(has_stored_norms(plan_of(OptimizerType::LAMB, {}))) << "c_attn is one tensor";
  const Facts before = {{"optimizer", "LAMB"}};
  const Facts now = {{"optimizer", "LAMB"}, {"norms", "of stored tensors"}};
  EXPECT_THAT(
      changes_since(before, now, false).listed,
      ElementsAre(HasSubstr("norms of LAMB: one a parameter, now one a tensor of Hugging")));
  EXPECT_THAT(changes_since(now, now, false).listed, IsEmpty());
  EXPECT_THAT(changes_since({{"optimizer", "AdamW"}}, now, false).listed, IsEmpty());
}

TEST(CheckpointFacts, AStateComesBackBitForBit) {
  kernels::StepState state{};
  state.loss_scale = 65536;
  state.beta1_power = 1.0 / 3;
  state.last_overflow = -1;
  state.skipped_in_row = 3;
  state.report.loss = 0.1;
  state.report.grad_norm = std::numeric_limits<double>::infinity();
  Facts facts;
  add_state(state, facts);
  const kernels::StepState read = state_in(facts);
  EXPECT_EQ(read.loss_scale, state.loss_scale);
  EXPECT_EQ(read.beta1_power, state.beta1_power);
  EXPECT_EQ(read.last_overflow, -1);
  EXPECT_EQ(read.skipped_in_row, 3);
  EXPECT_EQ(read.report.loss, 0.1);
  EXPECT_TRUE(std::isinf(read.report.grad_norm));
}

std::string refusal(const Facts& facts) {
  return testing_support::refusal_of(Exit::kInput, [&] { state_in(facts); });
}

TEST(CheckpointFacts, AStateThatIsIncompleteOrNoNumberIsRefused) {
  Facts facts;
  add_state({}, facts);
  facts["state.updates"] = "12x";
  EXPECT_THAT(refusal(facts), HasSubstr("\"state.updates\": \"12x\" is no number"));
  facts.erase("state.updates");
  EXPECT_THAT(refusal(facts), HasSubstr("no fact \"state.updates\""));
}

TEST(CheckpointFacts, AStateThatNoTrainingLeavesIsRefused) {
  const std::pair<const char*, const char*> forged[] = {{"updates", "-7"},
                                                        {"updates", "4611686018427387904"},
                                                        {"report.step", "-1"},
                                                        {"loss_scale", "-0x1p+3"},
                                                        {"loss_scale", "nan"},
                                                        {"beta1_power", "0x1.8p+0"},
                                                        {"beta2_power", "inf"},
                                                        {"apply", "2"},
                                                        {"skipped_in_row", "-1"},
                                                        {"scaler_iteration", "200000000"},
                                                        {"learning_rate", "nan"},
                                                        {"unbias2_sqrt", "-0x1p-1"},
                                                        {"hysteresis_left", "-2000000000"}};
  for (const auto& [member, value] : forged) {
    Facts facts;
    add_state({}, facts);
    facts[text("state.", member)] = value;
    EXPECT_THAT(refusal(facts),
                HasSubstr(text("\"state.", member, "\": \"", value, "\" is not from ")));
  }
}

TEST(CheckpointFacts, TheWindowOfSpikesComesBackBitForBit) {
  EXPECT_TRUE(spikes_in({}).steps.empty());
  Facts facts;
  add_spikes({.steps = {{1.0 / 3, 0.1}, {2.5, 1e300}}, .skipped_in_row = 2, .spikes = 7}, facts);
  const state::SpikeWindow::Content read = spikes_in(facts);
  ASSERT_EQ(read.steps.size(), 2u);
  EXPECT_EQ(read.steps[0].loss, 1.0 / 3);
  EXPECT_EQ(read.steps[0].grad_norm, 0.1);
  EXPECT_EQ(read.steps[1].grad_norm, 1e300);
  EXPECT_EQ(read.skipped_in_row, 2);
  EXPECT_EQ(read.spikes, 7);
}

TEST(CheckpointFacts, AWindowOfSpikesThatNoTrainingLeavesIsRefused) {
  std::string many;
  for (int i = 0; i <= state::SpikeWindow::kSteps; ++i) many += "0x1p+0 ";
  const std::tuple<const char*, std::string, const char*> forged[] = {
      {"losses", many, "201 numbers, at most 200"},
      {"losses", "0x1p+0 inf", "\"inf\" is no finite number"},
      {"grad_norms", "1 2x", "\"2x\" is no finite number"},
      {"grad_norms", "1 2 3 4", "4 numbers beside 2 losses"},
      {"skipped_in_row", "-1", "\"-1\" is no number of steps"},
      {"skipped", "many", "\"many\" is no number of steps"}};
  for (const auto& [name, value, fault] : forged) {
    Facts facts;
    add_spikes({.steps = {{1, 2}, {3, 4}}}, facts);
    facts[text("spikes.", name)] = value;
    const std::string words = testing_support::refusal_of(Exit::kInput, [&] { spikes_in(facts); });
    EXPECT_THAT(words, HasSubstr(text("fact \"spikes.", name, "\": ")));
    EXPECT_THAT(words, HasSubstr(fault));
  }
}

checkpoint::Manifest after_step(int64_t step, const Facts& facts) {
  checkpoint::Manifest manifest;
  manifest.step = step;
  manifest.ranks = 2;
  manifest.facts = facts;
  return manifest;
}

TEST(CheckpointCursor, IsWhatItSaysAndElseWhatItsBatchMakes) {
  const std::string configuration =
      "train_batch_size = \"auto\"\ntrain_micro_batch_size_per_gpu = 3\n[zero]\nno_more_a_key = "
      "1\n";
  const Facts old = {{"configuration", configuration}};
  EXPECT_EQ(cursor_of(after_step(5, old), "x"), (DataCursor{.steps = 5, .samples = 30}));
  Facts told = old;
  told["samples_consumed"] = "17";
  EXPECT_EQ(cursor_of(after_step(5, told), "x"), (DataCursor{.steps = 5, .samples = 17}));
  EXPECT_EQ(cursor_of(after_step(0, {}), "x"), DataCursor{}) << "imported weights";
}

TEST(CheckpointCursor, OfNoNumberOrTooManySamplesIsRefused) {
  const auto refusal = [](const checkpoint::Manifest& manifest) {
    return testing_support::refusal_of(Exit::kInput, [&] { cursor_of(manifest, "runs/x"); });
  };
  for (const char* samples : {"", "-1", "4", "5x", "9007199254740993", "99999999999999999999"}) {
    EXPECT_THAT(refusal(after_step(5, {{"samples_consumed", samples}})),
                HasSubstr("runs/x: fact \"samples_consumed\" is no number of samples"));
  }
  EXPECT_THAT(refusal(after_step(5, {})), HasSubstr("runs/x: no fact \"samples_consumed\""));
}

Facts facts_with(const std::string& configuration) {
  return {{"architecture", "a"}, {"tokenizer", "bytes"}, {"data", "1"},
          {"compute", "f32"},    {"arithmetic", "x"},    {"configuration", configuration}};
}

TEST(CheckpointFacts, WhatChangesNumbersIsListedAndWhatDoesNotIsFree) {
  const Facts saved = facts_with("[optimizer]\nlr = 0.5\n[zero]\nstage = 0\n");
  const Facts now = facts_with("[optimizer]\nlr = 0.25\n[zero]\nstage = 3\n");
  const FactChanges changes = changes_since(saved, now, false);
  EXPECT_EQ(changes.refused, "");
  EXPECT_THAT(changes.listed, ElementsAre("optimizer.lr = 0.5, now 0.25"));
  EXPECT_THAT(changes_since(saved, saved, false).listed, IsEmpty());
  const Facts shown = facts_with(
      "[optimizer]\nlr = 0.5\n[zero]\nstage = 0\n[tensorboard]\nenabled = false\n"
      "[csv_monitor]\nenabled = true\njob_name = \"b\"\n");
  EXPECT_THAT(changes_since(saved, shown, false).listed, IsEmpty()) << "monitors only show a run";
}

TEST(CheckpointFacts, AnotherModelOrOtherDataAreRefused) {
  for (const char* name : {"architecture", "tokenizer", "data"}) {
    Facts other = facts_with("");
    other[name] = "z";
    EXPECT_THAT(changes_since(facts_with(""), other, false).refused, HasSubstr(name));
  }
}

TEST(CheckpointFacts, OtherDataAreListedWhereTheyAreAllowed) {
  Facts other = facts_with("");
  other["data"] = "2";
  EXPECT_THAT(changes_since(facts_with(""), other, false).refused,
              HasSubstr("data.changed = true"));
  const FactChanges changes = changes_since(facts_with(""), other, true);
  EXPECT_EQ(changes.refused, "");
  EXPECT_THAT(changes.listed, ElementsAre("data: fingerprint 0000000000000001, now fingerprint "
                                          "0000000000000002"));
  other["tokenizer"] = "words";
  EXPECT_THAT(changes_since(facts_with(""), other, true).refused, HasSubstr("tokenizer"));
}

TEST(CheckpointFacts, SayWhetherThereAreWeightsAlone) {
  EXPECT_FALSE(is_weights_only({}));
  EXPECT_FALSE(is_weights_only({{"weights_only", "false"}}));
  EXPECT_TRUE(is_weights_only({{"weights_only", "true"}}));
}

TEST(CheckpointFacts, LearningRateClippingAndDataMayEndAStreak) {
  const auto facts = [](const char* rate, const char* warmup, const char* clip, const char* data) {
    return Facts{
        {"configuration", text("optimizer.lr = ", rate, "\nscheduler.warmup_num_steps = ", warmup,
                               "\ngradient_clipping = ", clip, "\nrun.steps = ", data, "\n")},
        {"data", data}};
  };
  const auto may = [&](const Facts& now) {
    return changes_since(facts("1.0", "2", "1.0", "7"), now, true).may_end_streak;
  };
  EXPECT_FALSE(may(facts("1.0", "2", "1.0", "7")));
  EXPECT_TRUE(may(facts("2.0", "2", "1.0", "7")));
  EXPECT_TRUE(may(facts("1.0", "3", "1.0", "7")));
  EXPECT_TRUE(may(facts("1.0", "2", "2.0", "7")));
  EXPECT_TRUE(may(facts("1.0", "2", "1.0", "8")));
  Facts longer = facts("1.0", "2", "1.0", "8");
  longer["data"] = "7";
  EXPECT_FALSE(may(longer)) << "run.steps ends no streak";
}

}  // namespace
}  // namespace zero::save
