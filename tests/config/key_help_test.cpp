// Ranks: 1
#include "zero/config/key_help.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/config/fields.hpp"
#include "src/config/key_assignment.hpp"
#include "src/config/reference_text.hpp"
#include "tests/config/settings.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<KeyHelp> all_keys() { return key_help(testing_support::catalogue().models); }

KeyHelp key_called(const std::string& name) {
  const std::vector<KeyHelp> found = keys_called(all_keys(), name);
  EXPECT_EQ(found.size(), 1u) << name;
  return found.empty() ? KeyHelp() : found[0];
}

TEST(KeyHelp, HasATextADefaultAndLegalValuesOfEveryKey) {
  const std::vector<KeyHelp> keys = all_keys();
  RunConfig config = testing_support::unset_config();
  EXPECT_EQ(keys.size(), fields_of(config).size());
  for (const KeyHelp& key : keys) {
    EXPECT_FALSE(key.text.empty() && key.group.empty()) << key.key;
    EXPECT_FALSE(key.fallback.empty()) << key.key;
    EXPECT_FALSE(key.legal.empty()) << key.key;
    EXPECT_EQ(key_called(key.key).key, key.key);
  }
}

TEST(KeyHelp, OffersLegalWordsOnly) {
  RunConfig config = testing_support::unset_config();
  const std::vector<Field> fields = fields_of(config);
  const std::vector<KeyHelp> keys = all_keys();
  int words = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    for (const std::string& word : keys[i].values) {
      TomlValue value;
      std::string wrong;
      ASSERT_TRUE(parse_toml_word(word, value, wrong)) << keys[i].key << " = " << word;
      EXPECT_EQ(assign(fields[i], value), "") << keys[i].key << " = " << word;
      ++words;
    }
  }
  EXPECT_GE(words, 250);
}

TEST(KeyHelp, KnowsTheNamesOfOtherPrograms) {
  EXPECT_THAT(key_called("zero.stage").deepspeed, Contains("zero_optimization.stage"));
  EXPECT_THAT(key_called("optimizer.lr").deepspeed, ElementsAre("optimizer.params.lr"));
  EXPECT_THAT(key_called("optimizer.lr").transformers, Contains("--learning_rate"));
  EXPECT_THAT(key_called("zero.offload_optimizer.device").deepspeed,
              Contains("zero_optimization.cpu_offload"));
  EXPECT_THAT(key_called("generation.num_beams").transformers,
              Contains("GenerationConfig.num_beams"));
  EXPECT_TRUE(key_called("model.layers").deepspeed.empty());
  EXPECT_EQ(key_called("--learning_rate").key, "optimizer.lr");
  EXPECT_EQ(key_called("zero_optimization.stage").key, "zero.stage");
}

TEST(KeyHelp, SaysWithWhichSettingsAKeyActs) {
  EXPECT_EQ(key_called("zero.stage3_prefetch_bucket_size").acts_with, "zero.stage = 3");
  EXPECT_THAT(key_called("fp16.hysteresis").acts_with, HasSubstr("fp16.enabled = true; and with"));
  EXPECT_EQ(key_called("run.seed").acts_with, "");
  EXPECT_EQ(key_called("steps_per_print").remark, "the same setting as run.log_interval");
}

TEST(KeysCalled, FindsLastPartsAndSections) {
  EXPECT_EQ(key_called("weight_decay").key, "optimizer.weight_decay");
  EXPECT_EQ(keys_called(all_keys(), "nvme_path").size(), 3u);
  EXPECT_EQ(keys_called(all_keys(), "memory").size(), 2u);
  EXPECT_EQ(keys_called(all_keys(), "[data]").front().key, "data.train");
  EXPECT_TRUE(keys_called(all_keys(), "weight").empty()) << "a part of a word names nothing";
  EXPECT_TRUE(keys_called(all_keys(), "").empty());
}

TEST(EntriesOfReference, JoinTheLinesOfAComment) {
  const auto entries = entries_of_reference(
      "# The head of the file.\n\n# Above.\na = \"x # y\"  # behind\n  # below\n"
      "[s]  # of a section\nb = 1\n\nc = 2  # c's\n");
  EXPECT_EQ(entries.at("a").group, "Above.");
  EXPECT_EQ(entries.at("a").text, "behind below");
  EXPECT_EQ(entries.at("s.b").group, "of a section");
  EXPECT_EQ(entries.at("s.b").text, "");
  EXPECT_EQ(entries.at("s.c").text, "c's");
  EXPECT_EQ(entries.size(), 3u);
}

}  // namespace
}  // namespace zero
