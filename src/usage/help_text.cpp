#include "src/usage/help_text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "src/usage/help_columns.hpp"
#include "zero/base/shared_files.hpp"
#include "zero/base/text.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::usage {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string joined(const std::vector<std::string>& words, std::string_view otherwise) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out.empty() ? std::string(otherwise) : out;
}

std::string upper_first(std::string_view words) {
  std::string out(words);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = char(out[0] - 'a' + 'A');
  return out;
}

std::string in_lower_case(std::string words) {
  for (char& c : words) c = char(std::tolower(uint8_t(c)));
  return words;
}

/// True if `words` have each of `wanted`, which are in lower case.
bool has_all(const std::string& words, const std::vector<std::string>& wanted) {
  const std::string low = in_lower_case(words);
  return std::ranges::all_of(wanted,
                             [&](const std::string& word) { return low.find(word) != low.npos; });
}

/// Returns the first sentence of a text, or its first 200 characters.
std::string beginning(const std::string& words) {
  constexpr size_t kMost = 200;
  const size_t end = words.find(". ");
  if (end != words.npos && end < kMost) return words.substr(0, end + 1);
  return words.size() > kMost ? words.substr(0, words.rfind(' ', kMost)) + " ..." : words;
}

}  // namespace

std::string spelling(const Option& option) {
  return text(option.short_name, option.short_name.empty() ? "" : ", ", option.name,
              option.argument.empty() ? "" : " ", option.argument);
}

std::string words_about(const Option& option) {
  if (option.fallback.empty()) return std::string(option.text);
  return text(option.text, " (", option.fallback, ")");
}

std::string exit_statuses(const Syntax& command) {
  std::vector<Exit> ends = command.ends;
  ends.insert(ends.end(), {Exit::kFinished, Exit::kUsage, Exit::kInternal});
  std::ranges::sort(ends);
  std::string out;
  for (const Exit end : ends) out += text(out.empty() ? "" : ", ", int(end), kJoint, text_of(end));
  return out;
}

std::string sentences_about(const Syntax& command) {
  std::string out = text(upper_first(command.title), ".");
  if (!command.meaning.empty()) out += text(" ", command.meaning);
  if (command.command == Command::plan)
    out += text(" Names of machines: ", plan::card_names(), ".");
  return out;
}

std::string program_help(const model::Catalogue& catalogue) {
  constexpr size_t kMostTitles = 40;  // letters that fit the first line
  const std::string titles = catalogue.titles();
  std::string out = text("zeroapp trains a ", titles.size() > kMostTitles ? "transformer" : titles,
                         " on MPI ranks with ZeRO stages 0 to 3.\n\n");
  Rows rows;
  for (const Syntax& command : commands()) rows.emplace_back(command.word, command.title);
  out += two_columns(rows);
  const std::string example = shared_file(catalogue.models.front().example_input);
  return out +
         text("\n  mpirun --mca odls_base_sigkill_timeout 2 -n 2 zeroapp ", example,
              "\n  zeroapp plan ", example, " --ranks 8\n\n",
              "More is told by COMMAND --help, help KEY, help --search WORDS, --version and man ",
              "zeroapp.\n");
}

std::string command_help(const Syntax& command) {
  std::string out = text(usage(command), "\n  ", wrapped(sentences_about(command), 2, 2));
  Rows rows;
  for (const Option& option : command.options) {
    rows.emplace_back(spelling(option), words_about(option));
  }
  if (!rows.empty()) out += text("\n", two_columns(rows));
  out += "\nExamples:\n";
  for (const std::string_view example : command.examples) out += text("  ", example, "\n");
  return out + wrapped(text("Exit status: ", exit_statuses(command), "."), 0, 0);
}

std::string key_text(const KeyHelp& key) {
  std::string out = text(key.key, "\n");
  for (const std::string& words : {key.group, key.text}) {
    if (!words.empty()) out += text("  ", wrapped(words, 2, 2));
  }
  Rows rows = {{"default", key.fallback}, {"legal", key.legal}};
  if (!key.values.empty() && key.legal == "text")
    rows.emplace_back("known", joined(key.values, ""));
  if (!key.remark.empty()) rows.emplace_back("remark", key.remark);
  rows.emplace_back("acts with", key.acts_with.empty() ? "any setting" : key.acts_with);
  rows.emplace_back("DeepSpeed", joined(key.deepspeed, "has no such key"));
  rows.emplace_back("Transformers", joined(key.transformers, "has no such name"));
  return out + two_columns(rows);
}

std::string list_of_keys(const std::vector<KeyHelp>& keys) {
  Rows rows;
  for (const KeyHelp& key : keys) rows.emplace_back(key.key, beginning(key.text));
  return two_columns(rows);
}

std::string search_text(const std::vector<KeyHelp>& keys, const std::vector<std::string>& words) {
  std::vector<std::string> wanted;
  for (const std::string& word : words) wanted.push_back(in_lower_case(word));
  Rows rows;
  for (const Syntax& command : commands()) {
    if (has_all(text(command.word, " ", sentences_about(command)), wanted)) {
      rows.emplace_back(text("zeroapp ", command.word), command.title);
    }
    for (const Option& option : command.options) {
      if (!has_all(text(option.name, " ", option.text), wanted)) continue;
      rows.emplace_back(text("zeroapp ", command.word, " ", option.name), words_about(option));
    }
  }
  for (const KeyHelp& key : keys) {
    const std::string names = text(joined(key.deepspeed, ""), " ", joined(key.transformers, ""));
    if (!has_all(text(key.key, " ", key.group, " ", key.text, " ", names), wanted)) continue;
    rows.emplace_back(key.key, beginning(key.text));
  }
  return rows.empty() ? "" : two_columns(rows);
}

}  // namespace zero::usage
