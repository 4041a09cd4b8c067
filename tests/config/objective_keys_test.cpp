// Ranks: 1
#include "zero/config/objective_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/settings.hpp"
#include "tests/support/models.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ModelTable* models() { return &testing_support::catalogue().models; }

TEST(Objectives, AreChosenByTheSettingsOfTheFamily) {
  RunConfig config = testing_support::unset_config();
  EXPECT_EQ(objective_of(config)->name, "tokens");
  config.model.family = "t5";
  EXPECT_EQ(objective_of(config)->name, "pairs");
  config.data.noise_density = 0.15;
  EXPECT_EQ(objective_of(config)->name, "spans");
  EXPECT_EQ(objective_of({}), nullptr) << "without a table";
}

TEST(Objectives, OwnTheKeysOfTheirData) {
  const ObjectiveSettings& pairs = *objective_with(models(), "bleu");
  EXPECT_EQ(pairs.name, "pairs");
  EXPECT_TRUE(pairs.key("data.source_field") && !pairs.key("data.source_field")->validates);
  EXPECT_TRUE(pairs.key("evaluation.generate")->validates);
  EXPECT_EQ(pairs.key("data.sentinel_id"), nullptr);
  EXPECT_TRUE(pairs.metric("bleu")->higher_is_better);
  EXPECT_EQ(objective_with(models(), "speed"), nullptr);
}

TEST(Objectives, NameTheMetricsThatChooseACheckpoint) {
  EXPECT_THAT(
      metric_names(models()),
      ElementsAre("validation_loss", "perplexity", "acc", "acc_norm", "acc_bytes", "acc_greedy",
                  "word_perplexity", "byte_perplexity", "bits_per_byte", "bleu", "exact_match",
                  "accuracy", "f1", "matthews", "pearson", "spearman"));
  EXPECT_THAT(metric_names(nullptr), ElementsAre("validation_loss"));
  const Lines lines = {"data.validation_fraction = 0.5", "checkpoint.interval = 5",
                       "evaluation.interval = 5", "checkpoint.best_metric = \"speed\""};
  EXPECT_THAT(error_of(complete(lines)), HasSubstr("\"exact_match\""));
}

TEST(Objectives, ScoreTheTextsByWhichACheckpointIsChosen) {
  const auto told = [](const std::string& metric, const std::string& file) {
    Lines lines = {"data.validation_fraction = 0.5", "checkpoint.interval = 5",
                   "evaluation.interval = 5", "checkpoint.best_metric = \"" + metric + "\""};
    if (!file.empty()) lines.push_back(file);
    return error_of(complete(lines));
  };
  EXPECT_THAT(told("acc_norm", ""),
              HasSubstr("\"acc_norm\" is a number of texts that are scored; write "
                        "evaluation.choices = \"FILE\" for such a model, or best_metric"));
  EXPECT_EQ(told("acc_norm", "evaluation.choices = \"a.jsonl\""), "");
  EXPECT_THAT(told("bits_per_byte", "evaluation.choices = \"a.jsonl\""),
              HasSubstr("evaluation.documents = \"FILE\""));
  EXPECT_EQ(told("bits_per_byte", "evaluation.documents = \"a.jsonl\""), "");
}

TEST(Objectives, OwnTheKeysOfTextsToScore) {
  EXPECT_THAT(error_of(complete({"model.name = \"t5-small\"", "data.sequence_length = 8",
                                 "evaluation.choices = \"a.jsonl\""})),
              HasSubstr("evaluation.choices: \"a.jsonl\" has no effect: it acts only with a "
                        "model.name or model.family that learns from documents"));
}

/// A table of one family with two objectives, each with a key and a metric of its own.
ModelTable two_objectives() {
  const auto noisy = [](const RunConfig& config) { return config.data.noise_density > 0; };
  const auto value = [](double loss, std::span<const int64_t>) { return loss; };
  const auto objective = [&](std::string_view name, std::string_view key) {
    return ObjectiveSettings{
        .name = name,
        .families = "that learns",
        .setting = name,
        .setting_key = "data.noise_density",
        .keys = {{.name = key}},
        .metrics = {{.name = key, .source = MetricSource::samples, .value = value}}};
  };
  ModelFamily family = models()->front();
  family.objectives = {objective("noise", "data.sentinel_id"), objective("calm", "data.pad_id")};
  family.objectives[0].acts = noisy;
  return {family};
}

TEST(Objectives, RefuseWhatOnlyAnotherOneHas) {
  const ModelTable table = two_objectives();
  const auto told = [&](const Lines& lines) {
    try {
      read_config(table, join(complete(lines)), "in.toml");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(told({"data.pad_id = 3"}), "");
  EXPECT_THAT(told({"data.sentinel_id = 3"}),
              HasSubstr("it acts only with a model.name or model.family that learns (\"gpt2\"), "
                        "and noise; remove it or write that"));
  const Lines lines = {"data.validation_fraction = 0.5", "checkpoint.interval = 5",
                       "evaluation.interval = 5", "checkpoint.best_metric = \"data.sentinel_id\""};
  EXPECT_THAT(told(lines), HasSubstr("is a number of noise; write best_metric = "
                                     "\"validation_loss\""));
}

/// A table of one family, whose model has so many labels, with a metric of classes and one of
/// numbers.
ModelTable with_labels(int64_t (*labels)(const RunConfig&)) {
  const auto metric = [](std::string_view name, bool of_numbers) {
    return Metric{.name = name, .source = MetricSource::scores, .of_numbers = of_numbers};
  };
  ModelFamily family = models()->front();
  family.counts.push_back({.name = kLabelCount, .range = {.automatic = true}, .otherwise = labels});
  for (ModelSize& size : family.sizes) size.counts.push_back(0);
  family.objectives = {
      {.name = "labels", .metrics = {metric("share", false), metric("fit", true)}}};
  return {family};
}

TEST(Objectives, RefuseAMetricOfOtherLabelsWithThoseThatFit) {
  const auto told = [](int64_t (*labels)(const RunConfig&), const char* metric) {
    try {
      const Lines lines = {"data.validation_fraction = 0.5", "checkpoint.interval = 5",
                           "evaluation.interval = 5",
                           text("checkpoint.best_metric = \"", metric, "\"")};
      read_config(with_labels(labels), join(complete(lines)), "in.toml");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto one = [](const RunConfig&) { return int64_t(1); };
  const auto three = [](const RunConfig&) { return int64_t(3); };
  EXPECT_EQ(told(one, "fit"), "");
  EXPECT_EQ(told(three, "share"), "");
  EXPECT_THAT(told(one, "share"),
              HasSubstr("\"share\" is a number of models with two labels or more, and this one has "
                        "1; write \"fit\", or \"validation_loss\""));
  EXPECT_THAT(told(three, "fit"), HasSubstr("with one label, and this one has 3; write \"share\""));
}

}  // namespace
}  // namespace zero
