#pragma once
/// The table of commands. The reader of the command line, the help, the manual pages and the
/// completions of shells all read it.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/config/generation_keys.hpp"
#include "zero/usage/command_line.hpp"

namespace zero::usage {

template <class Number>
using Rule = std::optional<Number> GenerationConfig::*;
using Ids = std::vector<int64_t>;
struct Count {
  std::variant<int64_t CommandLine::*, Rule<int64_t>> place;
  int64_t low, high;
  const char* what;  ///< "number of ranks"
};
struct Real {
  Rule<double> place;
  double low, high;
};
struct OneOfWords {
  std::string CommandLine::*place;
  std::vector<std::string_view> words;
};
/// The place of an option's value: a flag (bool), a size (int64_t), any word, or one of these.
using OptionKind =
    std::variant<bool CommandLine::*, int64_t CommandLine::*, std::string CommandLine::*,
                 std::optional<std::string> CommandLine::*, Count, Real, OneOfWords, Rule<BeamEnd>,
                 Rule<Ids>>;

struct Option {
  std::string_view name;      ///< "--ranks"
  std::string_view argument;  ///< "N"; "" for a flag
  OptionKind kind;
  std::string_view text;           ///< its effect, in a few words
  std::string_view fallback = "";  ///< default, in words; "" = nothing to say
  std::string_view short_name = "";
};

/// The unnamed words that a command takes behind its input.
enum class Second { settings, required, optional, more, none };

struct Syntax {
  std::string_view word;
  Command command;
  std::string_view input = "";    ///< "DIR"; in brackets if it may be absent; "" = none
  std::string_view meaning = "";  ///< of the input, in a sentence
  std::string_view title = "";    ///< one line
  std::vector<Option> options = {};
  Second second = Second::none;
  std::string_view second_name = "";
  std::vector<std::string> CommandLine::*trailing = nullptr;  ///< takes all words after "--"
  std::vector<std::string_view> examples = {};                ///< three
  std::vector<Exit> ends = {};                                ///< statuses besides 0, 2 and 11

  bool needs_input() const { return !input.empty() && input[0] != '['; }
};

/// Returns every command. The first is train, which needs no word of its own.
std::span<const Syntax> commands();

/// Returns the command of a word, or null.
const Syntax* find_command(std::string_view word);

/// Returns --json.
Option json_option(std::string_view text = "as one JSON object");

/// Returns the commands on models and texts; run_commands() those on what a run has left.
std::vector<Syntax> model_commands();
std::vector<Syntax> run_commands();

/// Returns the options of generate.
std::vector<Option> generate_options();

/// Returns the command replay.
Syntax replay_syntax();

/// Returns "zeroapp plan", and "zeroapp" for train.
std::string called(const Syntax& command);

/// Returns the command with its unnamed words: "zeroapp plan INPUT.toml [key=value ...]".
std::string usage(const Syntax& command);

/// Returns the words that an option takes, if it takes no others.
std::vector<std::string> words_of(const Option& option);

/// A status with which the program ends.
struct Ending {
  Exit exit;
  std::string_view text;
};
std::span<const Ending> endings();
std::string_view text_of(Exit exit);

}  // namespace zero::usage
