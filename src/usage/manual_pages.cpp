#include "src/usage/manual_pages.hpp"

#include <algorithm>

#include "src/usage/help_columns.hpp"
#include "src/usage/help_text.hpp"
#include "zero/usage/help.hpp"

namespace zero::usage {
namespace {

/// Returns words that a formatter shows as they are.
std::string plain(std::string_view words) {
  std::string out;
  for (const char c : words) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == kJoint) {
      out += "\\ ";
    } else if (c == '"') {
      out += "\\(dq";
    } else {
      out += c;
    }
  }
  return out.starts_with(".") ? "\\&" + out : out;
}

std::string heading(std::string_view title, int section) {
  return text(".TH \"", plain(title), "\" ", section, " \"\" \"zeroapp ", version(), "\"\n");
}

std::string section(std::string_view name, const std::string& body) {
  return text(".SH \"", name, "\"\n", body);
}

/// Returns a paragraph with a hanging title in bold.
std::string item(std::string_view title, std::string_view body) {
  return text(".TP\n.B \"", plain(title), "\"\n", plain(body), "\n");
}

std::string named(std::string_view name, std::string_view what) {
  return section("NAME", text(plain(name), " \\- ", plain(what), "\n"));
}

/// Returns lines of a terminal.
std::string shown(const std::vector<std::string_view>& lines) {
  std::string out = ".nf\n";
  for (const std::string_view line : lines) out += plain(line) + "\n";
  return out + ".fi\n";
}

std::string see_also(const std::vector<std::string>& pages) {
  std::string out;
  for (size_t i = 0; i < pages.size(); ++i) {
    out += text(".BR \"", plain(pages[i]), "\"", i + 1 < pages.size() ? " ," : "", "\n");
  }
  return section("SEE ALSO", out);
}

std::string all_endings() {
  std::string out;
  for (const Ending& ending : endings()) out += item(text(int(ending.exit)), ending.text);
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

/// Returns the entry of a key in zeroapp-input(5).
std::string entry_of(const KeyHelp& key) {
  const bool ends = key.text.ends_with('.');
  std::string words = text(key.text,
                           key.text.empty() ? ""
                           : ends           ? " "
                                            : ". ",
                           "Legal: ", key.legal, ".");
  if (!key.remark.empty()) words += text(" Remark: ", key.remark, ".");
  if (!key.acts_with.empty()) words += text(" Acts with: ", key.acts_with, ".");
  if (!key.deepspeed.empty()) words += text(" DeepSpeed: ", joined(key.deepspeed), ".");
  if (!key.transformers.empty()) words += text(" Transformers: ", joined(key.transformers), ".");
  return item(text(key.key, " = ", key.fallback), words);
}

}  // namespace

std::string program_page() {
  std::string all;
  std::vector<std::string> pages;
  for (const Syntax& command : commands()) {
    all += item(usage(command), sentences_about(command));
    pages.push_back(text("zeroapp-", command.word, "(1)"));
  }
  pages.emplace_back("zeroapp-input(5)");
  const std::string questions =
      item("--help, -h", "prints the commands, or the options of a command before it") +
      item("--version", "prints the release and the commit");
  return heading("zeroapp", 1) +
         named("zeroapp", "trains transformers on MPI ranks with the ZeRO family") +
         section("SYNOPSIS", shown({"mpirun -n N zeroapp INPUT.toml [key=value ...]",
                                    "zeroapp COMMAND ...", "zeroapp help COMMAND|KEY"})) +
         section("COMMANDS", all) + section("OPTIONS", questions) +
         section("EXIT STATUS", all_endings()) + see_also(pages);
}

std::string command_page(const Syntax& command) {
  std::string options;
  for (const Option& option : command.options) {
    options += item(spelling(option), words_about(option));
  }
  const std::string name = text("zeroapp-", command.word);
  std::string page = heading(name, 1) + named(name, command.title);
  page += section("SYNOPSIS", plain(usage(command)) + "\n");
  page += section("DESCRIPTION", plain(sentences_about(command)) + "\n");
  if (!options.empty()) page += section("OPTIONS", options);
  page += section("EXAMPLES", shown(command.examples));
  page += section("EXIT STATUS", plain(exit_statuses(command)) + "\n");
  return page + see_also({"zeroapp(1)", "zeroapp-input(5)"});
}

std::string input_page(const std::vector<KeyHelp>& keys) {
  std::string page = heading("zeroapp-input", 5) +
                     named("zeroapp-input", "every key of an input file, with its default");
  const std::string about =
      "An input file is TOML of at most 64 KiB: lines KEY = VALUE under [SECTION]. A word "
      "section.key=value on the command line wins over it. Nothing is ignored: an unknown key is "
      "an error, and so is one without effect.";
  page += section("DESCRIPTION", plain(about) + "\n");
  page += section("EXAMPLE", shown({"[zero]", "stage = 3", "", "[run]", "steps = 1000"}));
  std::string section_name, entries;
  for (const KeyHelp& key : keys) {
    if (key.section != section_name) {
      page += section(section_name.empty() ? "TOP LEVEL" : section_name, entries);
      entries.clear();
      section_name = key.section;
    }
    if (!key.group.empty()) entries += text(".P\n", plain(key.group), "\n");
    entries += entry_of(key);
  }
  return page + section(section_name, entries) + see_also({"zeroapp(1)", "zeroapp-help(1)"});
}

}  // namespace zero::usage
