// Ranks: 1

#include "zero/config/optimizer_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "src/config/optimizer_rows.hpp"
#include "tests/config/settings.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/config/import_deepspeed.hpp"
#include "zero/config/read_config.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;
using Betas = std::array<double, 2>;

Words states_of(const OptimizerConfig& config) {
  Words names;
  for (const OptimizerState& state : form_of(config).states) names.push_back(state.name);
  return names;
}

TEST(Optimizers, RowsAreInTheOrderOfTheTypesAndKeepNoMoreThanTheMost) {
  std::set<std::string> names;
  for (size_t i = 0; i < optimizer_rows().size(); ++i) {
    const OptimizerForm form = form_of({.type = OptimizerType(i)});
    EXPECT_TRUE(names.insert(form.name).second) << form.name;
    EXPECT_LE(form.states.size(), size_t(kMostStates)) << form.name;
    EXPECT_NE(form.ops[0], nullptr) << form.name;
  }
  EXPECT_STREQ(form_of({}).name, "AdamW");
  EXPECT_STREQ(form_of({.type = OptimizerType::Lion}).name, "Lion");
}

// They are names of tensors in checkpoints: other names would lose those that there are.
TEST(Optimizers, StatesHaveTheNamesThatCheckpointsHave) {
  for (const auto type : {OptimizerType::AdamW, OptimizerType::Adam, OptimizerType::LAMB}) {
    EXPECT_THAT(states_of({.type = type}), ElementsAre("momentum", "variance"));
  }
  EXPECT_THAT(states_of({.type = OptimizerType::Lion}), ElementsAre("momentum"));
  EXPECT_THAT(states_of({.type = OptimizerType::SGD, .momentum = 0.9}),
              ElementsAre("momentum_buffer"));
  EXPECT_THAT(states_of({.type = OptimizerType::SGD}), IsEmpty());
}

TEST(Optimizers, NormsOfWholeTensorsAreLambsAlone) {
  for (size_t i = 0; i < optimizer_rows().size(); ++i) {
    const OptimizerType type = OptimizerType(i);
    EXPECT_EQ(form_of({.type = type}).needs_norms(), type == OptimizerType::LAMB);
  }
}

ConfigInput read(const Lines& lines) { return read_config(join(complete(lines)), "in.toml"); }

TEST(Optimizers, LionHasBetasOfItsOwnWhereNobodySays) {
  const ConfigInput silent = read({"optimizer.type = \"Lion\""});
  EXPECT_EQ(silent.config.optimizer.betas, (Betas{0.9, 0.99}));
  EXPECT_THAT(effective_toml(silent),
              HasSubstr("betas = [0.9, 0.99]  # derived from optimizer.type"));
  EXPECT_EQ(read_config(effective_toml(silent), "again.toml").config, silent.config);
  const ConfigInput told = read({"optimizer.type = \"Lion\"", "optimizer.betas = [0.9, 0.999]"});
  EXPECT_EQ(told.config.optimizer.betas, (Betas{0.9, 0.999}));
  EXPECT_EQ(read({"optimizer.type = \"Adam\""}).config.optimizer.betas, (Betas{0.9, 0.999}));
}

TEST(Optimizers, AKeyOfOthersIsRefusedByTheNamesOfThoseThatReadIt) {
  EXPECT_THAT(error_of(complete({"optimizer.type = \"Lion\"", "optimizer.eps = 1e-6"})),
              HasSubstr("acts only with optimizer.type = \"AdamW\", \"Adam\" or \"LAMB\""));
  EXPECT_THAT(error_of(complete({"optimizer.max_coeff = 2.0"})),
              HasSubstr("acts only with optimizer.type = \"LAMB\""));
}

const Words kRun = {"model.name=gpt2", "data.train=synthetic", "run.steps=10",
                    "train_micro_batch_size_per_gpu=1"};

OptimizerConfig imported(const std::string& optimizer, const Words& launch_line = {}) {
  const testing_support::TempFile file("ds.json", "{" + optimizer + "}");
  const DeepSpeedImport import =
      import_deepspeed(file.path(), {.overrides = kRun, .launch_line = launch_line});
  EXPECT_THAT(import.refused, IsEmpty());
  return read_config(import.toml, "import.toml").config.optimizer;
}

TEST(Optimizers, LionIsImported) {
  const OptimizerConfig lion =
      imported(R"("optimizer": {"type": "Lion", "params": {"lr": 1e-4, "weight_decay": 0.1}})");
  EXPECT_EQ(lion.type, OptimizerType::Lion);
  EXPECT_EQ(lion.weight_decay, 0.1);
  EXPECT_EQ(lion.betas, (Betas{0.9, 0.99}));
  const OptimizerConfig told =
      imported(R"("optimizer": {"type": "lion", "params": {"lr": 1e-4, "betas": [0.95, 0.98]}})");
  EXPECT_EQ(told.betas, (Betas{0.95, 0.98}));
}

// Transformers gives Lion the betas of its flags, whose defaults are Adam's.
TEST(Optimizers, TransformersLionHasTheBetasOfItsFlags) {
  const OptimizerConfig usual = imported("", {"--optim", "lion_32bit", "--learning_rate", "1e-4"});
  EXPECT_EQ(usual.type, OptimizerType::Lion);
  EXPECT_EQ(usual.betas, (Betas{0.9, 0.999}));
  const OptimizerConfig told =
      imported("", {"--optim", "lion_32bit", "--learning_rate", "1e-4", "--adam_beta2", "0.98"});
  EXPECT_EQ(told.betas, (Betas{0.9, 0.98}));
}

TEST(Optimizers, SgdIsImportedWithItsMomentum) {
  const OptimizerConfig sgd = imported(
      R"("optimizer": {"type": "SGD", "params": {"lr": 0.1, "momentum": 0.9, "nesterov": true,
                                                 "weight_decay": 1e-4, "foreach": false}})");
  EXPECT_EQ(sgd.type, OptimizerType::SGD);
  EXPECT_EQ(sgd.momentum, 0.9);
  EXPECT_TRUE(sgd.nesterov);
  EXPECT_EQ(sgd.weight_decay, 1e-4);
  EXPECT_EQ(imported("", {"--optim", "sgd", "--learning_rate", "0.1"}).type, OptimizerType::SGD);
}

TEST(Optimizers, SgdLooksAheadAlongAMomentumWithoutDampeningAlone) {
  const auto refused = [](const Lines& more) {
    Lines lines = {"optimizer.type = \"SGD\"", "optimizer.nesterov = true"};
    lines.insert(lines.end(), more.begin(), more.end());
    return error_of(complete(lines));
  };
  EXPECT_THAT(refused({}), HasSubstr("nesterov needs a momentum above 0, and dampening = 0"));
  EXPECT_EQ(refused({"optimizer.momentum = 0.9"}), "");
  EXPECT_THAT(refused({"optimizer.momentum = 0.9", "optimizer.dampening = 0.1"}),
              HasSubstr("nesterov needs"));
}

}  // namespace
}  // namespace zero
