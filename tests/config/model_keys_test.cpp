// Ranks: 1

#include "zero/config/model_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/config/key_contradictions.hpp"
#include "tests/config/settings.hpp"
#include "tests/support/refusal.hpp"
#include "zero/config/read_config.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;

/// Two families: towers have floors, bridges have floors and arches, twice as many if not said, and
/// are of stone if not said. Its tolls belong to the task, and data of length 5 say 3.
const ModelTable& table() {
  const Range any{.low = 1, .high = 100, .automatic = true};
  const auto twice = [](const RunConfig& config) { return 2 * config.data.sequence_length; };
  const auto stone = [](const RunConfig&) -> int64_t { return 1; };
  const auto tolls = [](const RunConfig& config) -> int64_t {
    return config.data.sequence_length == 5 ? 3 : 0;
  };
  static const ModelTable all = {
      {.name = "tower",
       .example_input = "tower.toml",
       .counts = {{"floors", any}, {"width", any}},
       .rates = {{"sway", {.high = 1}, 0.5}},
       .sizes = {{"low", {2, 3}}, {"high", {20, 30}}},
       .rules = {},
       .blocks = {"floors"}},
      {.name = "bridge",
       .example_input = "",
       .counts = {{"floors", any},
                  {"arches", any, twice, "data.sequence_length"},
                  {"width", any},
                  {"deck", any, stone, {}, {"stone", "steel"}},
                  {.name = "tolls", .range = any, .otherwise = stone, .by_task = tolls}},
       .rates = {{"slope", {.high = 9}, 2, true}},
       .sizes = {{"long", {1, 40, 5, 2}}},
       .rules = {},
       .blocks = {"floors", "arches"}}};
  return all;
}

const std::string kRun = "data.train = \"t.txt\"\nrun.steps = 1\ndata.sequence_length = 4\n";

ConfigInput read(const std::string& more) { return read_config(table(), kRun + more, "in.toml"); }

std::string refusal(const std::string& more) {
  return testing_support::refusal_of(Exit::kUsage, [&] { read(more); });
}

TEST(ModelTable, ASizeIsThatOfItsNameInWhicheverFamily) {
  const RunConfig high = read("model.name = \"high\"").config;
  EXPECT_EQ(family_of(high.model).name, "tower");
  EXPECT_EQ(model_numbers(high).count("width"), 30);
  EXPECT_EQ(model_numbers(high).rate("sway"), 0.5);
  EXPECT_EQ(block_count(high), 20);
  const RunConfig bridge = read("model.name = \"long\"").config;
  EXPECT_EQ(family_of(bridge.model).name, "bridge");
  EXPECT_EQ(block_count(bridge), 41) << "floors and arches";
}

TEST(ModelTable, NumbersWithoutANameAreOfTheFirstFamilyOrTheOneThatIsSaid) {
  const RunConfig tower = read("model.floors = 7\nmodel.width = 1").config;
  EXPECT_EQ(family_of(tower.model).name, "tower");
  const RunConfig bridge =
      read("model.family = \"bridge\"\nmodel.floors = 7\nmodel.width = 1").config;
  EXPECT_EQ(model_numbers(bridge).count("arches"), 8) << "auto: twice the length";
  EXPECT_EQ(read("model.family = \"tower\"\nmodel.floors = 7\nmodel.width = 1").config, tower);
}

TEST(ModelTable, ANumberMayBeWrittenAsAWord) {
  const std::string bridge = "model.family = \"bridge\"\nmodel.floors = 7\nmodel.width = 1\n";
  EXPECT_EQ(model_numbers(read(bridge).config).count("deck"), 1) << "auto: stone";
  const ConfigInput steel = read(bridge + "model.deck = \"steel\"");
  EXPECT_EQ(model_numbers(steel.config).count("deck"), 2);
  EXPECT_EQ(read_config(table(), effective_toml(steel), "e.toml").config, steel.config);
  EXPECT_THAT(refusal(bridge + "model.deck = \"wood\""),
              HasSubstr("\"auto\", \"stone\", \"steel\""));
  EXPECT_THAT(effective_toml(read("model.name = \"long\"")),
              HasSubstr("deck = \"auto\"  # default; derived from model.name: \"steel\""));
}

TEST(ModelTable, ACountOfTheTaskStandsBesideAName) {
  const std::string bridge = "model.family = \"bridge\"\nmodel.floors = 7\nmodel.width = 1\n";
  const auto tolls = [](const std::string& more) {
    return model_numbers(read(more).config).count("tolls");
  };
  for (const std::string& model : {std::string("model.name = \"long\"\n"), bridge}) {
    EXPECT_EQ(tolls(model), 1) << "auto";
    EXPECT_EQ(tolls(model + "model.tolls = 7"), 7);
  }
  EXPECT_THAT(effective_toml(read("model.name = \"long\"")),
              HasSubstr("tolls = \"auto\"  # default"));
  EXPECT_THAT(refusal("model.name = \"long\"\nmodel.width = 7"),
              HasSubstr("remove the name or floors, arches, width, deck"));
}

TEST(ModelTable, WhatIsMissingOrOfAnotherFamilyIsRefused) {
  EXPECT_THAT(refusal("model.floors = 7"),
              HasSubstr("the model has no size; write model.name = \"low\", or floors and width"));
  EXPECT_THAT(refusal("model.name = \"low\"\nmodel.width = 7"),
              HasSubstr("already says the numbers of the model; remove the name or floors, width"));
  EXPECT_THAT(refusal("model.name = \"lng\""), HasSubstr("did you mean \"long\"?"));
  EXPECT_THAT(refusal("model.name = \"low\"\nmodel.arches = 7"),
              HasSubstr("in.toml:5: model.arches: the family \"tower\" has no such number; remove "
                        "it, or write model.family = \"bridge\""));
  EXPECT_THAT(refusal("model.name = \"long\"\nmodel.sway = 0.25"),
              HasSubstr("in.toml:5: model.sway: the family \"bridge\" has no such number"));
  EXPECT_THAT(refusal("model.name = \"low\"\nmodel.family = \"bridge\""),
              HasSubstr("is of the family \"tower\""));
  EXPECT_THAT(refusal("model.name = \"long\"\nactivation_checkpointing.recompute = [41]"),
              HasSubstr("recompute names block 41 of a model of 41 blocks"));
}

/// A bridge, or a tower, that a run begins with.
ConfigInput begun(const std::string& more, const StartNumbers& start) {
  return read_config(table(), kRun + "model.init_from = \"there\"\n" + more, "in.toml", {},
                     Writer::user, [&](const RunConfig& config) {
                       EXPECT_EQ(config.run.output, "runs/in")
                           << "where its own checkpoints may be";
                       return std::optional(start);
                     });
}

const StartNumbers kBridge{
    .place = "there",
    .family = "bridge",
    .numbers = {.counts = {{"floors", 7}, {"arches", 3}, {"width", 5}, {"deck", 2}, {"tolls", 4}},
                .rates = {{"slope", 2.5}}},
    .mixed_rates = ""};
const StartNumbers kTower{
    .place = "there",
    .family = "tower",
    .numbers = {.counts = {{"floors", 2}, {"width", 3}}, .rates = {{"sway", 0.25}}},
    .mixed_rates = ""};

TEST(StartNumbers, SayWhatIsNotWrittenAndStandInEffectiveSettings) {
  const ConfigInput input = begun("", kBridge);
  EXPECT_EQ(family_of(input.config.model).name, "bridge");
  EXPECT_EQ(model_numbers(input.config).count("arches"), 3) << "and not twice the length";
  const std::string text = effective_toml(input);
  for (const char* line : {"family = \"bridge\"  # derived from model.init_from",
                           "floors = 7  # derived from model.init_from", "deck = \"steel\"  #"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_EQ(read_config(table(), text, "e.toml").config, input.config) << "complete by itself";
  EXPECT_EQ(begun("model.floors = 7\nmodel.deck = \"steel\"", kBridge).config, input.config);
  EXPECT_EQ(model_numbers(input.config).rate("slope"), 2.5) << "and not the default";
  EXPECT_EQ(begun("model.slope = 2.5", kBridge).config, input.config);
  EXPECT_EQ(model_numbers(begun("", kTower).config).rate("sway"), 0.25);
  EXPECT_EQ(model_numbers(begun("model.sway = 0.75", kTower).config).rate("sway"), 0.75);
  EXPECT_EQ(begun("model.name = \"low\"", kTower).config.model.name, "low");
}

TEST(StartNumbers, BringTheNamesOfLabelsThatNoKeySays) {
  StartNumbers start = kBridge;
  start.classes = {"wide", "narrow"};
  const ConfigInput input = begun("", start);
  EXPECT_EQ(input.config.model.start.labels, start.classes);
  EXPECT_EQ(effective_toml(input), effective_toml(begun("", kBridge)));
}

TEST(StartNumbers, OfTheTaskYieldToWhatDataSay) {
  EXPECT_EQ(model_numbers(begun("", kBridge).config).count("tolls"), 4);
  StartNumbers drawn = kBridge;
  drawn.numbers.counts["tolls"] = 3;
  const RunConfig config =
      read_config(table(),
                  "data.train = \"t.txt\"\nrun.steps = 1\ndata.sequence_length = 5\n"
                  "model.init_from = \"there\"",
                  "in.toml", {}, Writer::user,
                  [&](const RunConfig&) { return std::optional(drawn); })
          .config;
  EXPECT_EQ(model_numbers(config).count("tolls"), 3);
  EXPECT_EQ(config.model.numbers.count("tolls"), 0) << "they say it each time";
}

TEST(StartNumbers, ThatDifferAreListedAsKeys) {
  const auto refusal = [](const std::string& more, const StartNumbers& start) {
    return testing_support::refusal_of(Exit::kInput, [&] { begun(more, start); });
  };
  const std::string two =
      refusal("model.floors = 8\nmodel.width = 5\nmodel.deck = \"stone\"", kBridge);
  EXPECT_THAT(two, HasSubstr("model.init_from: there: holds another model than [model] says"));
  EXPECT_THAT(two, HasSubstr("\n  floors = 7  (in.toml:5: 8)"));
  EXPECT_THAT(two, HasSubstr("\n  deck = \"steel\"  (in.toml:7: \"stone\")"));
  EXPECT_EQ(two.find("width"), two.npos) << "it agrees";
  EXPECT_THAT(refusal("model.name = \"high\"", kTower), HasSubstr("floors = 2  (in.toml:5: 20)"));
  EXPECT_THAT(refusal("model.family = \"bridge\"", kTower),
              HasSubstr("family = \"tower\"  (in.toml:5: \"bridge\")"));
  EXPECT_THAT(refusal("model.slope = 1", kBridge), HasSubstr("\n  slope = 2.5  (in.toml:5: 1)"))
      << "a rate of the network is as fixed as a count";
  StartNumbers long_one = kBridge;
  long_one.mixed_rates = "sway 0.1, swing 0";
  EXPECT_EQ(refusal("", long_one), "") << "mixed rates are of dropout";
  StartNumbers mixed = kTower;
  mixed.mixed_rates = "sway 0.1, swing 0";
  EXPECT_THAT(refusal("", mixed), HasSubstr("says sway 0.1, swing 0, and one rate acts here; write "
                                            "model.sway = "));
  EXPECT_EQ(refusal("model.sway = 0.5", mixed), "");
  mixed.numbers.rates["stiffness"] = 3;
  EXPECT_EQ(refusal("model.sway = 0.5", mixed), "") << "no key sets a family's constant";
  EXPECT_EQ(begun("model.sway = 0.5", mixed).config.model.numbers.rates.at("stiffness"), 3);
  StartNumbers own = kBridge;
  own.must_agree = false;
  EXPECT_EQ(model_numbers(begun("model.floors = 8", own).config).count("floors"), 8)
      << "the checkpoints say what is wrong";
}

TEST(StartNumbers, ThatAreNowhereAreMissedByName) {
  EXPECT_THAT(refusal("model.init_from = \"gone\""),
              HasSubstr("the model has no size, and model.init_from, which would say it, is not "
                        "there; write"));
}

/// Kites have the tower's numbers with another sway, and a lift that follows from a name or is 3.
const ModelTable& kites() {
  const auto make = [] {
    const Range any{.low = 1, .high = 100, .automatic = true};
    ModelTable all = {table().front()};
    all.push_back({.name = "kite",
                   .example_input = "",
                   .counts = {{"floors", any}, {"width", any}},
                   .rates = {{"sway", {.high = 1}, 0.25},
                             {.name = "lift",
                              .range = {.low = 1, .high = 9, .automatic = true},
                              .initial = 0,
                              .network = true,
                              .usual = 3}},
                   .sizes = {{"red", {2, 3}, {{"lift", 5}, {"tail", 7}}}},
                   .rules = {},
                   .blocks = {"floors"}});
    return all;
  };
  static const ModelTable all = make();
  return all;
}

ConfigInput kite(const std::string& more, const StartReader& start = {}) {
  return read_config(kites(), kRun + more, "in.toml", {}, Writer::user, start);
}

TEST(ModelTable, ARateThatIsNotWrittenIsTheFamilysOwn) {
  const std::string numbers = "model.family = \"kite\"\nmodel.floors = 7\nmodel.width = 1\n";
  const ConfigInput input = kite(numbers);
  EXPECT_EQ(model_numbers(input.config).rate("sway"), 0.25) << "and not the tower's";
  EXPECT_EQ(model_numbers(input.config).rate("lift"), 3);
  EXPECT_THAT(effective_toml(input), HasSubstr("sway = 0.25  # derived from model.family"));
  EXPECT_THAT(effective_toml(input),
              HasSubstr("lift = \"auto\"  # default; derived from model.family: 3"));
  EXPECT_EQ(read_config(kites(), effective_toml(input), "e.toml").config, input.config);
  EXPECT_EQ(model_numbers(kite(numbers + "model.lift = 4\nmodel.sway = 0.5").config).rate("lift"),
            4);
  EXPECT_EQ(model_numbers(kite("model.name = \"low\"").config).rate("sway"), 0.5);
  const auto fault = testing_support::refusal_of(
      Exit::kUsage, [] { kite("model.name = \"low\"\nmodel.lift = 4"); });
  EXPECT_THAT(fault, HasSubstr("the family \"tower\" has no such number"));
}

TEST(ModelTable, ASizeMaySayRates) {
  EXPECT_EQ(model_numbers(kite("model.name = \"red\"").config).rate("lift"), 5);
  EXPECT_EQ(model_numbers(kite("model.name = \"red\"\nmodel.lift = 5").config).rate("lift"), 5);
  const auto fault = testing_support::refusal_of(
      Exit::kUsage, [] { kite("model.name = \"red\"\nmodel.lift = 4"); });
  EXPECT_THAT(fault, HasSubstr("model.name = \"red\" already says lift; remove it or the name"));
}

TEST(StartNumbers, HaveRatesAndListsThatASizeMustAgreeWith) {
  const auto with = [](const std::string& more, double lift, double tail) {
    return kite("model.init_from = \"there\"\n" + more,
                [=](const RunConfig&) {
                  return std::optional(StartNumbers{
                      .place = "there",
                      .family = "kite",
                      .numbers = {.counts = {{"floors", 2}, {"width", 3}},
                                  .rates = {{"sway", 0.5}, {"lift", lift}, {"tail", tail}},
                                  .lists = {{"knots", {1, 2}}}}});
                })
        .config.model;
  };
  EXPECT_EQ(with("", 6, 7).numbers.rate("lift"), 6);
  EXPECT_EQ(with("model.lift = \"auto\"", 6, 7).numbers.rate("lift"), 6);
  EXPECT_EQ(with("model.name = \"red\"", 5, 7).numbers.list("knots"), (std::vector<double>{1, 2}));
  const auto fault = [&](double lift, double tail) {
    return testing_support::refusal_of(Exit::kInput,
                                       [&] { with("model.name = \"red\"", lift, tail); });
  };
  EXPECT_THAT(fault(6, 7), HasSubstr("lift = 6  (in.toml:5: 5)"));
  EXPECT_THAT(fault(5, 8), HasSubstr("tail = 8  (in.toml:5: 7)"));
}

TEST(ModelTable, EffectiveSettingsReadBackTheSame) {
  const ConfigInput input = read("model.family = \"bridge\"\nmodel.floors = 7\nmodel.width = 1");
  const std::string text = effective_toml(input);
  EXPECT_THAT(text,
              HasSubstr("arches = \"auto\"  # default; derived from data.sequence_length: 8"));
  EXPECT_EQ(read_config(table(), text, "e.toml").config, input.config);
}

TEST(ModelTable, EveryRuleOfAFamilyHasAnExampleThatBreaksIt) {
  for (const Rule& rule : rules_for(read("model.name = \"low\"").config.model)) {
    if (!rule.keys.front().starts_with("model.")) continue;
    EXPECT_NE(refusal("model.name = \"low\"\n" + join({rule.example.back()})), "") << rule.keys[0];
  }
}

}  // namespace
}  // namespace zero
