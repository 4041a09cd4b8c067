// Ranks: 1

#include "src/config/fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "src/config/field_text.hpp"
#include "src/config/foreign_keys.hpp"
#include "src/config/import/rules.hpp"
#include "src/config/key_assignment.hpp"
#include "tests/config/field_values.hpp"
#include "tests/config/settings.hpp"
#include "tests/support/models.hpp"
#include "tests/support/tree_folder.hpp"

namespace zero {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

/// Calls check(field) with the place of every key.
template <class Check>
int for_each_key(Check check) {
  RunConfig config = testing_support::unset_config();
  const std::vector<Field> fields = fields_of(config);
  for (const Field& field : fields) check(field);
  return int(fields.size());
}

std::string line_of(const std::string& key, const TomlValue& value) {
  return key + " = " + to_text(value);
}

/// `line` is refused where it stands: in the file, and on the command line.
void expect_refused(const std::string& line, const std::string& word) {
  const Lines file = complete({line});
  const std::string in_file = error_of(file), typed = error_of(complete({}), as_overrides({line}));
  const std::string key = key_of(line);
  EXPECT_TRUE(says(in_file, text("in.toml:", file.size(), ": ", key, ": "))) << line << in_file;
  EXPECT_TRUE(says(typed, text("command line: ", key, ": "))) << line << "\n" << typed;
  EXPECT_THAT(in_file, HasSubstr(word)) << line;
  EXPECT_THAT(typed, HasSubstr(word)) << line;
}

TEST(EveryKey, StandsOnceAndWithItsSection) {
  std::set<std::string> keys;
  std::set<std::string_view> ended;
  std::string_view section;
  RunConfig config = testing_support::unset_config();
  const std::vector<Field> fields = fields_of(config);
  for (const Field& field : fields) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    if (section_of(field.key) == section) continue;
    EXPECT_TRUE(ended.insert(section).second) << section << " is cut in two at " << field.key;
    section = section_of(field.key);
  }
}

TEST(EveryKey, TakesItsLegalValuesAndReadsThemBack) {
  for_each_key([](const Field& field) {
    for (const TomlValue& value : legal_of(field)) {
      EXPECT_EQ(assign(field, value), "") << line_of(field.key, value);
      const TomlValue kept = value_of(field);
      EXPECT_EQ(assign(field, kept), "") << line_of(field.key, kept);
      EXPECT_EQ(value_of(field), kept) << line_of(field.key, value);
    }
  });
}

TEST(EveryKey, MisspeltIsRefusedWithItsNameWhereItStands) {
  const int keys = for_each_key([](const Field& field) {
    const std::string value = to_text(value_of(field));
    expect_refused(field.key + "x = " + value, "did you mean " + field.key + "?");
    expect_refused("x" + field.key + " = " + value, "no such key");
  });
  EXPECT_GE(keys, 150);
}

TEST(EveryKey, OfTheWrongTypeIsRefusedWhereItStands) {
  for_each_key([](const Field& field) {
    for (const TomlValue& value : mistyped_of(field)) {
      expect_refused(line_of(field.key, value), "");
    }
  });
}

TEST(EveryKey, OutOfRangeIsRefusedWhereItStands) {
  int refused = 0;
  for_each_key([&refused](const Field& field) {
    for (const TomlValue& value : out_of_range_of(field)) {
      expect_refused(line_of(field.key, value), "");
      ++refused;
    }
  });
  EXPECT_GE(refused, 150);
}

TEST(EveryKey, TwiceIsRefusedNamingBothPlaces) {
  for_each_key([](const Field& field) {
    const std::string line = line_of(field.key, value_of(field));
    const Lines file = complete({line, line});
    const std::string begin = text("in.toml:", file.size(), ": ", field.key, ": ");
    EXPECT_TRUE(
        says(error_of(file), begin + text("the key stands twice, first in line ", file.size() - 1)))
        << line << "\n"
        << error_of(file);
    const Lines typed = as_overrides({line, line});
    EXPECT_TRUE(says(error_of(complete({}), typed),
                     text("command line: ", field.key, ": stands twice, as ", typed[0])))
        << line;
  });
}

TEST(EveryKey, WithoutAMemberSaysWhyAndWhatWorksInstead) {
  for_each_key([](const Field& field) {
    const auto* fixed = std::get_if<Fixed>(&field.binding);
    if (!fixed) return;
    EXPECT_THAT(std::string(fixed->reason),
                ::testing::AnyOf(HasSubstr("write "), HasSubstr("leave it"), HasSubstr("remove ")))
        << field.key;
    for (const TomlValue& value : out_of_range_of(field)) {
      EXPECT_EQ(assign(field, value), text(to_text(value), " is not done: ", fixed->reason))
          << field.key;
    }
    for (const TomlValue& value : mistyped_of(field)) {
      EXPECT_THAT(assign(field, value), EndsWith(text(": ", fixed->reason))) << field.key;
    }
  });
}

TEST(Hints, TakeEveryLegalValueAndSayWhatIsDoneInstead) {
  const auto told = [](const std::string& line) {
    return read_config(join(complete({line})), "in.toml").warnings;
  };
  EXPECT_THAT(
      told("zero.sub_group_size = 1e14"),
      ::testing::ElementsAre("in.toml:4: zero.sub_group_size: 1e+14 is a hint: the optimizer "
                             "runs unit by unit and takes no extra memory"));
  EXPECT_EQ(told("zero.sub_group_size = 0").size(), 1u);
  EXPECT_EQ(told("zero.round_robin_gradients = true").size(), 1u);
  EXPECT_EQ(told("zero.offload_optimizer.cpuadam_cores_perc = 0.5").size(), 1u);
  for (const char* key : {"buffer_count", "buffer_size", "max_in_cpu"}) {
    EXPECT_EQ(told(text("zero.offload_param.", key, " = 7")).size(), 1u) << key;
  }
  EXPECT_THAT(told("zero.sub_group_size = 1000000000.0"), ::testing::IsEmpty()) << "the default";
  expect_refused("zero.sub_group_size = -1", "-1 is out of range; write 0 or more");
  expect_refused("zero.sub_group_size = 0.5", "write an integer");
  expect_refused("zero.offload_optimizer.cpuadam_cores_perc = 2", "write 0 to 1");
}

TEST(SectionOf, IsWhatStandsBeforeTheLastPoint) {
  EXPECT_EQ(section_of("zero.offload_param.device"), "zero.offload_param");
  EXPECT_EQ(section_of("train_batch_size"), "");
}

std::string name_of(Standing standing) {
  constexpr const char* kNames[] = {"ours", "same", "cap", "always on", "refused", "hint"};
  return kNames[int(standing)];
}

std::string row_of(const Field& field) {
  const auto* fixed = std::get_if<Fixed>(&field.binding);
  std::string why = fixed ? std::string(fixed->reason) : "";
  if (const auto* hint = std::get_if<Hint>(&field.binding)) why = hint->reason;
  if (!field.note.empty()) why = field.note;
  if (!field.alias_of.empty()) why = "the same setting as " + field.alias_of;
  return text("| ", field.key, " | ", to_text(value_of(field)), " | ", legal_values(field), " | ",
              name_of(field.standing), " | ", why, " |\n");
}

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

/// Names that have become keys of an input file stand in the input file's own table.
std::string names_without_twin(const DeepSpeedKeys& keys) {
  std::istringstream names{std::string(keys.names)};
  std::string left;
  RunConfig config = testing_support::unset_config();
  const std::vector<Field> fields = fields_of(config);
  for (std::string name; names >> name;) {
    const std::string here = same_key(text(keys.section, keys.section.empty() ? "" : ".", name));
    const bool twin = std::any_of(fields.begin(), fields.end(),
                                  [&](const Field& field) { return field.key == here; });
    if (!twin) left += (left.empty() ? "" : ", ") + (name == "*" ? "any other" : name);
  }
  return left;
}

std::string row_of(const DeepSpeedKeys& keys) {
  const std::string names = names_without_twin(keys);
  if (names.empty()) return "";
  return text("| ", keys.section, " | ", names, " | ", name_of(keys.standing), " | ", keys.why,
              " |\n");
}

/// With ZERO_WRITE_KEYS=1 in the environment it writes the table instead of comparing it.
TEST(KeysMd, HoldsTheTableOfKeysAsItIs) {
  const auto path = testing_support::tree_folder() / "inputs/keys.md";
  std::string table = "| key | default | legal | DeepSpeed | why |\n|---|---|---|---|---|\n";
  for_each_key([&table](const Field& field) { table += row_of(field); });
  table +=
      "\n## Keys of DeepSpeed alone\n\n"
      "By DeepSpeed's names. `import-deepspeed` takes a hint and sets nothing, and refuses the "
      "others by\nthe sentence here; no section but `comms_config` and `monitor_config` stands "
      "in an input file.\n\n| section | keys | DeepSpeed | why |\n|---|---|---|---|\n";
  for (const DeepSpeedKeys& keys : deepspeed_keys()) table += row_of(keys);
  const std::string file = content(path), words = file.substr(0, file.find("| key |"));
  if (std::getenv("ZERO_WRITE_KEYS")) std::ofstream(path) << words << table;
  EXPECT_EQ(content(path).substr(words.size()), table)
      << "write it anew: ZERO_WRITE_KEYS=1 config_test --gtest_filter=KeysMd.*";
}

/// What reference.toml says of each key: the lines above it, behind its value, and below that.
std::map<std::string, std::string> reference_texts() {
  std::istringstream lines(
      content((testing_support::tree_folder() / "inputs/reference.toml").string()));
  std::map<std::string, std::string> texts;
  std::string section, above, key;
  const std::regex named(R"((\w+) = ([^#]*)(#.*)?)"), header(R"(\[([\w.]+)\].*)");
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, found, named)) {
      key = section + found.str(1);
      texts[key] = std::exchange(above, "") + found.str(3);
    } else if (std::regex_match(line, found, header)) {
      section = found.str(1) + ".";
    } else if (line.starts_with("#")) {
      above += line;
    } else if (!line.empty()) {
      texts[key] += line;
    }
  }
  return texts;
}

TEST(Reference, SaysOfEveryKeyThatActsWhenOneWouldChangeIt) {
  const std::map<std::string, std::string> texts = reference_texts();
  const std::regex when("\\b(when|where|if)\\b");
  for_each_key([&](const Field& field) {
    const bool acts = !std::holds_alternative<Fixed>(field.binding) &&
                      !std::holds_alternative<Hint>(field.binding);
    ASSERT_TRUE(texts.contains(field.key)) << field.key;
    EXPECT_TRUE(!acts || std::regex_search(texts.at(field.key), when)) << field.key;
  });
}

/// Blank lines, the points of lists and the bars of tables part what is said.
std::vector<std::string> sayings_of(const std::string& file) {
  std::vector<std::string> sayings(1);
  for (const char c : content((testing_support::tree_folder() / file).string())) {
    const bool begins = (c == '\n' || c == '-') && sayings.back().ends_with("\n");
    const bool ends = c == '|' || begins;
    if (ends) sayings.emplace_back();
    sayings.back() += c;
  }
  return sayings;
}

TEST(SameBytes, AtAnyRankCountAreSaidWithTheMicroBatchSize) {
  const std::regex ranks("rank count|number of\\s+ranks|4 and 8 ranks"),
      same("same\\s+(bytes|bits)|byte for byte|one state");
  int said = 0;
  for (const char* file :
       {"README.md", "doc/a_run.md", "doc/checkpoints.md", "doc/measuring.md", "doc/numerics.md",
        "doc/using.md", "CHANGELOG.md", "inputs/README.md", "inputs/reference.toml",
        "inputs/from_deepspeed.md", "tests/promises.md", "include/zero/config/run_config.hpp"}) {
    for (const std::string& saying : sayings_of(file)) {
      if (!std::regex_search(saying, ranks) || !std::regex_search(saying, same)) continue;
      ++said;
      EXPECT_TRUE(std::regex_search(saying, std::regex("micro-batch"))) << file << ": " << saying;
    }
  }
  EXPECT_GE(said, 5);
}

}  // namespace
}  // namespace zero
