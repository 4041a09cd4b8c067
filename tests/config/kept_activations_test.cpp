// Ranks: 1

#include "src/config/kept_activations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/settings.hpp"
#include "tests/support/models.hpp"

namespace zero {
namespace {

using testing::HasSubstr;

std::string kept(const std::string& recompute, const std::string& model = "model.name = \"gpt2\"") {
  const Lines lines = complete({model, "activation_checkpointing.recompute = " + recompute});
  return kept_activations(read_config(join(lines), "in.toml").config);
}

TEST(KeptActivations, AreCountedByBlocks) {
  EXPECT_EQ(kept("\"none\""), "recompute = \"none\" keeps every activation of 12 blocks");
  EXPECT_EQ(kept("\"full\""), "recompute = \"full\" keeps the inputs of 12 blocks");
  EXPECT_THAT(kept("\"selective\""), HasSubstr("keeps those of 12 blocks but what is cheap"));
  EXPECT_EQ(kept("[0, 2, 5]"),
            "recompute keeps the inputs of 3 blocks and every activation of 9 blocks");
}

TEST(KeptActivations, AreToldWhereANumberIsAskedFor) {
  const Lines lines = complete({"activation_checkpointing.recompute = \"full\"",
                                "activation_checkpointing.number_checkpoints = 4"});
  const auto warnings = read_config(join(lines), "in.toml").warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("number_checkpoints: 4 is a hint: "));
  EXPECT_THAT(warnings[0], HasSubstr("keeps the inputs of 12 blocks"));
}

}  // namespace
}  // namespace zero
