// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/config/field_values.hpp"
#include "tests/config/settings.hpp"
#include "tests/support/models.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;

TEST(EffectiveToml, GivesTheOriginOfEveryValue) {
  const Lines file = complete({"zero.stage = 3", "fp16.enabled = true"});
  const Lines overrides = {"optimizer.lr=0.5", "zero.stage=2"};
  const std::string text = effective_toml(read_config(join(file), "some/train.toml", overrides));
  EXPECT_THAT(text, HasSubstr("\nenabled = true  # train.toml:5\n"));
  EXPECT_THAT(text, HasSubstr("\nlr = 0.5  # command line\n"));
  EXPECT_THAT(text, HasSubstr("\nstage = 2  # command line\n"));
  EXPECT_THAT(text, HasSubstr("\ndropout = 0.1  # default\n"));
  EXPECT_THAT(text, HasSubstr("\noutput = \"runs/train\"  # derived from the name of the input"));
  EXPECT_THAT(text, HasSubstr("\nlayers = \"auto\"  # default; derived from model.name: 12\n"));
  EXPECT_THAT(text, HasSubstr("\nwarmup_max_lr = \"auto\"  # default; derived from optimizer.lr"));
  EXPECT_THAT(text, HasSubstr("\ncontiguous_gradients = true  # always\n"));
}

TEST(EffectiveToml, HasEveryKeyAndOneOriginForTwoNamesOfASetting) {
  const ConfigInput input = read_config(join(complete({"steps_per_print = 7"})), "in.toml");
  const std::string text = effective_toml(input);
  EXPECT_THAT(text, HasSubstr("steps_per_print = 7  # in.toml:4\n"));
  EXPECT_THAT(text, HasSubstr("log_interval = 7  # in.toml:4\n"));
  RunConfig config = testing_support::unset_config();
  EXPECT_EQ(parse_toml(text).entries.size(), fields_of(config).size());
}

TEST(EffectiveToml, SurvivesAnInputFileWithAStrangeName) {
  const ConfigInput input = read_config(join(complete({"run.output = \"x\""})), "a\nb\xff.toml");
  EXPECT_TRUE(read_config(effective_toml(input), "e.toml").config == input.config);
  EXPECT_THAT(error_of(complete({}), {"run.output=\xff"}), HasSubstr("no UTF-8"));
}

TEST(EffectiveToml, OfARunByEpochsReadsBackAsOne) {
  ConfigInput input = read_config(join(complete({"run.steps = 0", "run.epochs = 2"})), "in.toml");
  const RunConfig asked = input.config;
  resolve_steps(input.config, 10, 4);
  ASSERT_EQ(input.config.run.steps, 5);
  const std::string text = effective_toml(input);
  EXPECT_THAT(text, HasSubstr("steps = 0  # in.toml:3; derived from run.epochs: 5\n"));
  EXPECT_TRUE(read_config(text, "e.toml").config == asked);
}

/// A legal file of a few drawn settings: one that contradicts the others is left out.
ConfigInput drawn_input(std::mt19937& random) {
  const auto below = [&random](size_t n) { return size_t(random() % n); };
  RunConfig config = testing_support::unset_config();
  const std::vector<Field> fields = fields_of(config);
  Lines lines;
  for (int i = 0; i < 40; ++i) {
    const Field& field = fields[below(fields.size())];
    const Values legal = legal_of(field);
    Lines more = lines;
    std::erase_if(more, [&](const std::string& line) { return key_of(line) == field.key; });
    more.push_back(field.key + " = " + to_text(legal[below(legal.size())]));
    if (error_of(complete(more)).empty()) lines = more;
  }
  return read_config(join(complete(lines)), "in.toml");
}

TEST(EffectiveToml, OfTwoHundredDrawnConfigurationsReadsBackTheSame) {
  std::mt19937 random(1);
  int changed = 0;
  for (int i = 0; i < 200; ++i) {
    const ConfigInput input = drawn_input(random);
    const std::string text = effective_toml(input);
    const ConfigInput again = read_config(text, "effective.toml");
    EXPECT_TRUE(again.config == input.config) << text;
    RunConfig plain = testing_support::unset_config();
    fields_of(plain);
    plain.model.name = "gpt2", plain.data.train = "t.txt", plain.run.steps = 10;
    plain.run.output = "runs/in";
    changed += !(input.config == plain);
  }
  EXPECT_GE(changed, 190);
}

}  // namespace
}  // namespace zero
