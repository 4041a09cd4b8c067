// Ranks: 1
#include "zero/train/start_model.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/models.hpp"
#include "tests/support/small_model.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::train {
namespace {

using testing_support::catalogue;
using testing_support::kSmallModel;
using testing_support::small_options;
using testing_support::TempFolder;
using testing_support::write_small_model;

TEST(StartModel, SaysTheNumbersOfARunThatBeginsWithIt) {
  const TempFolder place("start-model");
  const auto folder = [&](const std::string& name) { return place.path() + "/" + name; };
  RunConfig config = testing_support::unset_config();
  config.run.output = folder("run");
  StartModel start;
  const auto numbers = [&] {
    start = {};
    return start_numbers(catalogue(), config, start);
  };
  EXPECT_FALSE(numbers()) << "it begins with no other";
  config.model.init_from = folder("model");
  EXPECT_FALSE(numbers()) << "which is not there";
  write_small_model(small_options(folder("model"), Dtype::f32));
  const auto found = numbers();
  ASSERT_TRUE(found && start.opened);
  EXPECT_EQ(start.opened->path(), folder("model"));
  EXPECT_EQ(found->family, "gpt2");
  EXPECT_EQ(found->numbers.counts, model::Architecture(kSmallModel).numbers.counts);
  EXPECT_EQ(found->numbers.rates.count("dropout"), 1u);
  EXPECT_EQ(found->numbers.rates.at("epsilon"), double(kSmallModel.epsilon));
  EXPECT_TRUE(found->must_agree);

  stored::import_model(*start.opened, folder("run/checkpoints"), "a test");
  config.model.init_from = folder("gone");
  config.checkpoint.resume = Resume::automatic;
  const auto own = numbers();
  ASSERT_TRUE(own) << "the run's own checkpoint says them";
  EXPECT_EQ(own->numbers.counts, found->numbers.counts);
  EXPECT_FALSE(own->must_agree);
  StartModel told{.own = start.own, .is_found = true};
  EXPECT_EQ(start_numbers(catalogue(), config, told)->numbers.counts, found->numbers.counts);
  told = {.is_found = true};
  EXPECT_FALSE(start_numbers(catalogue(), config, told)) << "the first rank has found none";
  config.checkpoint.resume = Resume::never;
  EXPECT_FALSE(numbers());
}

}  // namespace
}  // namespace zero::train
