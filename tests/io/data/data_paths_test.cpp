// Ranks: 1

#include "io/data/data_paths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/tokenizer_folder.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DataPaths, ReplacesPatternsByTheFilesThatMatch) {
  const testing_support::TokenizerFolder folder("paths");
  for (const char* name : {"b.jsonl", "a.jsonl", "c.csv", "[x].jsonl"}) folder.write(name, "x");
  const std::string at = folder.path() + "/";
  DataConfig data{.train = "shown",
                  .train_parts = {{at + "?.jsonl", 2}, {at + "c.csv", 0.5}, {at + "[x].jsonl", 1}}};
  std::vector<std::string> paths;
  std::vector<size_t> parts;
  for (const DataPath& path : data_paths(data)) {
    paths.push_back(path.path);
    parts.push_back(path.part);
  }
  EXPECT_THAT(paths, ElementsAre(at + "a.jsonl", at + "b.jsonl", at + "c.csv", at + "[x].jsonl"));
  EXPECT_THAT(parts, ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(data_paths(data)[1].weight, 2);
  EXPECT_EQ(possible_paths(data), paths);
  data.train_parts.push_back({at + "*.csv"});
  EXPECT_EQ(testing_support::refusal_of(Exit::kUsage, [&] { data_paths(data); }),
            "data.train: \"" + at + "c.csv\" and \"" + at + "*.csv\" both have " + at +
                "c.csv; write patterns that share no file");
  data.train_parts = {{at + "*.none"}};
  EXPECT_THAT(testing_support::refusal_of(Exit::kUsage, [&] { data_paths(data); }),
              HasSubstr("*.none\" matches no file; write the path"));
  EXPECT_THAT(possible_paths(data), ElementsAre(at + "*.none"));
  data.train_parts = {};
  EXPECT_EQ(data_paths(data)[0].path, "shown");
}

}  // namespace
}  // namespace zero
