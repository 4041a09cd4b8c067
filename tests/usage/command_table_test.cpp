// Ranks: 1
#include "src/usage/command_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "src/usage/completions.hpp"
#include "src/usage/help_text.hpp"
#include "src/usage/manual_pages.hpp"
#include "tests/support/refusal.hpp"

namespace zero::usage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<KeyHelp>& keys() {
  static const std::vector<KeyHelp> all = key_help(model::catalogue().models);
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

CommandLine read(const std::vector<std::string>& words) {
  std::vector<const char*> all;
  for (const std::string& word : words) all.push_back(word.c_str());
  return read_command_line(all);
}

/// A legal value of an option.
std::string value_of(const Option& option) {
  const std::vector<std::string> words = words_of(option);
  if (!words.empty()) return words.front();
  if (const auto* count = std::get_if<Count>(&option.kind)) return text(count->low);
  if (const auto* real = std::get_if<Real>(&option.kind)) return text(real->high);
  if (std::holds_alternative<Rule<Ids>>(option.kind)) return "3,17";
  return std::holds_alternative<int64_t CommandLine::*>(option.kind) ? "5GB" : "word";
}

/// The words of a command with all that it needs.
std::vector<std::string> complete(const Syntax& command) {
  std::vector<std::string> words = {std::string(command.word)};
  if (command.needs_input()) words.emplace_back("in.toml");
  if (command.second == Second::required) words.emplace_back("out");
  return words;
}

template <class Check>
int for_each_option(Check check) {
  int count = 0;
  for (const Syntax& command : commands()) {
    for (const Option& option : command.options) check(command, option), ++count;
  }
  return count;
}

TEST(CommandTable, AcceptsEachOptionByBothNames) {
  const int options = for_each_option([](const Syntax& command, const Option& option) {
    for (const std::string_view name : {option.name, option.short_name}) {
      if (name.empty()) continue;
      std::vector<std::string> words = complete(command);
      words.emplace_back(name);
      if (!option.argument.empty()) words.push_back(value_of(option));
      EXPECT_EQ(read(words).command, command.command) << name;
      if (option.argument.empty() || command.command == Command::help) continue;
      words.pop_back();
      const std::string refusal = testing_support::refusal_of(Exit::kUsage, [&] { read(words); });
      EXPECT_THAT(refusal, HasSubstr("wants a value")) << name;
    }
  });
  EXPECT_GE(options, 55);
}

TEST(CommandTable, HasATextACompletionAndAManualEntryForEachOption) {
  const std::string bash = bash_completion(keys()), zsh = zsh_completion(keys()),
                    fish = fish_completion(keys());
  for_each_option([&](const Syntax& command, const Option& option) {
    EXPECT_FALSE(option.text.empty()) << option.name;
    EXPECT_THAT(command_help(command), HasSubstr(spelling(option)));
    std::string name(option.name);
    for (const std::string& script : {bash, zsh, fish}) EXPECT_THAT(script, HasSubstr(name));
    for (size_t at = 0; (at = name.find('-', at)) != name.npos; at += 2) name.insert(at, "\\");
    EXPECT_THAT(command_page(command), HasSubstr(name));
  });
}

TEST(CommandTable, HasThreeExamplesOfEachCommandWhichAreAccepted) {
  for (const Syntax& command : commands()) {
    EXPECT_EQ(command.examples.size(), 3u) << command.word;
    EXPECT_FALSE(command.title.empty()) << command.word;
    EXPECT_THAT(bash_completion(keys()), HasSubstr(text("    ", command.word, ")")));
    for (const std::string_view example : command.examples) {
      if (!example.starts_with("zeroapp") && example.find(" zeroapp ") == example.npos) continue;
      std::istringstream in(std::string(example.substr(example.find("zeroapp "))));
      std::vector<std::string> words;
      std::string word;
      for (in >> word; in >> word && word != "|" && word != ">";) words.push_back(word);
      std::erase_if(words,
                    [](const std::string& each) { return each == "the" || each == "beginning\""; });
      EXPECT_NO_THROW(read(words)) << example;
    }
  }
}

TEST(CommandHelp, FitsAScreenAndNamesTheStatuses) {
  for (const Syntax& command : commands()) {
    const std::string help = command_help(command);
    EXPECT_LT(lines_of(help).size(), 40u) << help;
    for (const std::string& line : lines_of(help)) EXPECT_LE(line.size(), 100u) << line;
    EXPECT_THAT(help, HasSubstr("Exit status: 0 finished, 2 usage or configuration"));
    EXPECT_THAT(help, HasSubstr("11 internal"));
  }
  EXPECT_THAT(command_help(*find_command("plan")), HasSubstr("ranks to plan for (1)"));
  EXPECT_THAT(command_help(*find_command("plan")), HasSubstr("h200_141g"));
  EXPECT_THAT(command_help(*find_command("export")), HasSubstr("of a file of weights (5GB)"));
}

TEST(ProgramHelp, HasALineForEachCommandOnAScreen) {
  const std::string help = program_help(model::catalogue());
  EXPECT_LE(lines_of(help).size(), 30u) << help;
  for (const std::string& line : lines_of(help)) EXPECT_LE(line.size(), 100u) << line;
  for (const Syntax& command : commands()) {
    EXPECT_THAT(help, HasSubstr(text("\n  ", command.word, " "))) << command.word;
  }
}

TEST(KeyText, SaysEverythingOfEachKey) {
  for (const KeyHelp& key : keys()) {
    const std::string help = key_text(key);
    for (const std::string& wanted : {key.key, key.fallback}) EXPECT_THAT(help, HasSubstr(wanted));
    for (const char* row :
         {"\n  default ", "\n  legal ", "\n  acts with ", "\n  DeepSpeed ", "\n  Transformers "}) {
      EXPECT_THAT(help, HasSubstr(row)) << key.key;
    }
    EXPECT_LT(lines_of(help).size(), 40u) << help;
    EXPECT_THAT(bash_completion(keys()), HasSubstr(key.key));
  }
}

TEST(SearchText, FindsCommandsOptionsAndKeysByAllWords) {
  EXPECT_THAT(search_text(keys(), {"LARGEST", "norm"}), HasSubstr("gradient_clipping"));
  EXPECT_THAT(search_text(keys(), {"bleu"}), HasSubstr("zeroapp score "));
  EXPECT_THAT(search_text(keys(), {"beams"}), HasSubstr("zeroapp generate --num-beams"));
  EXPECT_THAT(search_text(keys(), {"learning_rate"}), HasSubstr("optimizer.lr"))
      << "by the name of Transformers";
  EXPECT_EQ(search_text(keys(), {"largest", "quux"}), "");
  EXPECT_THAT(search_text(keys(), {"largest", "norm"}), Not(HasSubstr("run.steps")));
}

TEST(ManualPages, BeginNoLineWithAWordOfTheFormatter) {
  const std::string pages = input_page(keys()) + program_page();
  for (const std::string& line : lines_of(pages)) {
    if (!line.starts_with(".")) continue;
    const std::string word = line.substr(0, line.find(' '));
    EXPECT_THAT((std::vector<std::string>{".TH", ".SH", ".TP", ".B", ".BR", ".P", ".nf", ".fi"}),
                ::testing::Contains(word));
  }
}

}  // namespace
}  // namespace zero::usage
