// Ranks: 1
// Texts with a label have one length each: it is that of the graph in which they are read, and no
// source has any.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/model/gpt2.hpp"
#include "tests/support/models.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/config/batch_keys.hpp"
#include "zero/graph/operations.hpp"
#include "zero/model/objective.hpp"
#include "zero/setup/build.hpp"

namespace zero::setup {
namespace {

using ::testing::ElementsAre;
using testing_support::TempFile;

/// Two classes by the first row of a sample.
void class_head(graph::GraphBuilder& out, const model::Architecture& model,
                const model::Trunk& trunk, const model::ForwardOptions&) {
  out.unit("classes");
  const graph::TensorId table =
      out.parameter({.name = "classes.weight", .shape = {model.numbers.count(kWidth), 2}});
  const graph::TensorId bias =
      out.parameter({.name = "classes.bias", .shape = {2}, .decays = false});
  const graph::TensorId counts = out.input({.name = "token_count", .sample = {1}});
  const graph::TensorId rows =
      graph::first_rows(out, graph::clear_padding(out, trunk.last, counts));
  graph::class_loss(out, {.logits = graph::linear(out, rows, table, bias),
                          .labels = out.input({.name = "labels", .sample = {1}})});
}

const model::Catalogue& catalogue() {
  static const model::Family kFamily = [] {
    model::Family family = model::gpt2_family();
    family.settings.counts.push_back({.name = "labels", .range = {.low = 1, .high = 9}});
    family.objectives = {};
    return family;
  }();
  static const model::Objective kObjective{.settings = {.name = "labels"},
                                           .data = &label_data(),
                                           .counted_by = kBySample,
                                           .fits = [](const model::Family&) { return true; },
                                           .head = class_head};
  static const model::Catalogue kCatalogue({&kFamily}, {&kObjective});
  return kCatalogue;
}

RunConfig config_of(const TempFile& file, const std::string& buckets) {
  RunConfig config;
  config.model = {.table = &catalogue().models,
                  .numbers = {.counts = {{"layers", 1}, {"width", 64}, {"heads", 2}, {"labels", 2}},
                              .rates = {{"dropout", 0}}}};
  config.data.train = file.path();
  config.data.validation = file.path();
  config.data.sequence_length = 24;
  config.data.length_buckets = buckets;
  config.run.steps = 4;
  config.train_batch_size = 4;
  config.train_micro_batch_size_per_gpu = 2;
  return config;
}

/// 12 samples of 3 tokens and 4 of 20.
std::string lines() {
  std::string out = "text\tlabel\n";
  for (int i = 0; i < 16; ++i)
    out += std::string(i % 4 == 3 ? 18 : 1, char('a' + i)) + (i % 2 ? "\tno\n" : "\tyes\n");
  return out;
}

/// The tokens of a sample in each form of a graph, the shortest first.
std::vector<int64_t> token_lengths(const plan::Plan& plan, int32_t graph) {
  std::vector<int64_t> lengths;
  for (size_t form = 0; form < plan.forms(graph); ++form) {
    const graph::Graph& of = form + 1 < plan.forms(graph) ? plan.shorter[size_t(graph)][form]
                                                          : plan.graphs[size_t(graph)];
    for (const graph::Input& input : of.inputs) {
      const graph::Tensor& tensor = of[input.tensor];
      if (tensor.name == "tokens") lengths.push_back(tensor.shape.numel() / of.samples);
    }
  }
  return lengths;
}

TEST(LabelLengths, AreThoseOfTheFormsOfAPlan) {
  const TempFile file("l.tsv", lines());
  RunConfig config = config_of(file, "8, 16");
  Build made = build(config, {});
  EXPECT_THAT(token_lengths(made.plan, 0), ElementsAre(8, 16, 24));
  EXPECT_THAT(token_lengths(made.plan, 1), ElementsAre(8, 16, 24));
  DataSets sets = open_data(config);
  group_samples(config, {}, made, sets);
  EXPECT_EQ(config.data.length_buckets, "8, 16, 24");
  EXPECT_THAT(sets.classes, ElementsAre("no", "yes"));
  EXPECT_THAT(sets.train->form_lengths(),
              ElementsAre(LengthPair{0, 8}, LengthPair{0, 16}, LengthPair{0, 24}));
}

TEST(LabelLengths, AreChosenFromTheData) {
  const TempFile file("l.tsv", lines());
  RunConfig config = config_of(file, "auto");
  Build made = build(config, {});
  EXPECT_THAT(token_lengths(made.plan, 0), ElementsAre(24));
  DataSets sets = open_data(config);
  group_samples(config, {}, made, sets);
  EXPECT_EQ(config.data.length_buckets, "8, 24");
  EXPECT_THAT(token_lengths(made.plan, 0), ElementsAre(8, 24));
  const PaddingReport report = padding_of(*sets.train, 2);
  EXPECT_THAT(report.shares, ElementsAre(0.75, 0.25));
  EXPECT_DOUBLE_EQ(report.padding, 1 - (12 * 3 + 4 * 20) / double(12 * 8 + 4 * 24));
  for (int64_t first = 0; first < 16; first += 2) {
    const size_t form = sets.train->form_of(first, 2);
    EXPECT_EQ(sets.train->columns_of(form)[0].numel, form == 0 ? 8 : 24);
  }
}

TEST(LabelLengths, OfOtherFormsAreRefused) {
  const TempFile file("l.tsv", lines());
  EXPECT_THROW(build(config_of(file, "8x8"), {}), SettingsError);
}

}  // namespace
}  // namespace zero::setup
