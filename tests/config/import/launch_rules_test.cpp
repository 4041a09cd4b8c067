// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "src/config/import/rules.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::IsEmpty;

/// A line of tests/golden/launch_flags.txt, which a tool makes from the programs themselves.
struct Row {
  std::string program, kind, name;
};

std::vector<Row> rows() {
  std::ifstream file(testing_support::tree_folder() / "tests/golden/launch_flags.txt");
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  for (Row row; file >> row.program >> row.kind >> row.name;) rows.push_back(row);
  EXPECT_GE(rows.size(), 390u);
  return rows;
}

/// The configuration's key of a row of it or of `accelerate launch`; "" if it has none.
std::string key_of(const Row& row) {
  if (row.program == "configuration") return row.name;
  return row.program == "Accelerate" ? accelerate_key(row.name) : "";
}

const ImportRule* rule_of(const Row& row) {
  const std::string key = key_of(row);
  if (key.empty()) return find_flag(row.name);
  // Sections of the configuration are written with a key below them.
  for (const std::string& name : {key, key + ".x"}) {
    for (const auto rules : {fsdp_rules(), accelerate_rules()}) {
      if (const ImportRule* rule = find_rule(rules, name)) return rule;
    }
  }
  return nullptr;
}

/// DeepSpeed's file and its plugin's keys, which stand in sections of their own.
bool is_section(const Row& row) {
  return row.program == "configuration" && row.name == "deepspeed_config";
}

TEST(LaunchRules, HoldEveryFlagAndKeyOfTheStatedVersions) {
  for (const Row& row : rows()) {
    EXPECT_TRUE(is_section(row) || rule_of(row)) << row.program << " " << row.name;
  }
}

TEST(LaunchRules, KnowWhichFlagsOfLaunchersTakeNoValue) {
  for (const Row& row : rows()) {
    if (row.program == "Transformers" || row.program == "configuration") continue;
    EXPECT_EQ(is_switch(row.name), row.kind == "flag") << row.program << " " << row.name;
  }
}

TEST(LaunchRules, KnowWhichFlagsOfTrainingArgumentsAreBooleans) {
  for (const Row& row : rows()) {
    if (row.program != "Transformers") continue;
    EXPECT_EQ(takes_boolean(row.name), row.kind == "bool") << row.name;
  }
}

TEST(LaunchRules, HoldEachFlagOnce) {
  std::vector<std::string> seen, twice;
  for (const auto rules : {training_rules(), script_rules(), own_rules(), launcher_rules()}) {
    for (const ImportRule& rule : rules) {
      for (const std::string& key : rule.keys()) {
        (std::ranges::count(seen, key) ? twice : seen).push_back(key);
      }
    }
  }
  EXPECT_THAT(twice, IsEmpty());
}

std::string fate_of(const Row& row) {
  const ImportRule& rule = *rule_of(row);
  const std::string key = key_of(row);
  if (!rule.to.empty()) return "`" + rule.target(key.empty() ? row.name : key) + "`";
  if (rule.convert) return text("by its value; ", rule.why);
  if (rule.only == kNoValue) return text("refused: ", rule.why);
  if (!rule.only.empty()) return text("only ", rule.only, ": ", rule.why);
  return text("nothing to set: ", rule.why);
}

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// With ZERO_WRITE_FLAGS=1 in the environment it writes the table instead of comparing it.
TEST(LaunchFlagsMd, HoldsTheTableOfFlagsAsItIs) {
  const auto path = testing_support::tree_folder() / "inputs/launch_flags.md";
  std::string table = "| of | flag or key | here |\n|---|---|---|\n";
  for (const Row& row : rows()) {
    if (is_section(row)) continue;
    table += text("| ", row.program, " | ", row.name, " | ", fate_of(row), " |\n");
  }
  const std::string file = content(path), words = file.substr(0, file.find("| of |"));
  if (std::getenv("ZERO_WRITE_FLAGS")) std::ofstream(path) << words << table;
  EXPECT_EQ(content(path).substr(words.size()), table)
      << "write it anew: ZERO_WRITE_FLAGS=1 config_test --gtest_filter=LaunchFlagsMd.*";
}

}  // namespace
}  // namespace zero
