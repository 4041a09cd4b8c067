#include <algorithm>

#include "src/usage/command_table.hpp"

namespace zero::usage {

const Syntax* find_command(std::string_view word) {
  const auto found = std::ranges::find(commands(), word, &Syntax::word);
  return found == commands().end() ? nullptr : &*found;
}

std::string called(const Syntax& command) {
  return command.command == Command::train ? "zeroapp" : text("zeroapp ", command.word);
}

std::string usage(const Syntax& command) {
  std::string words = called(command);
  if (!command.input.empty()) words += text(" ", command.input);
  if (command.second == Second::required) words += text(" ", command.second_name);
  if (command.second == Second::optional) words += text(" [", command.second_name, "]");
  if (command.second == Second::more) words += text(" [", command.input, " ...]");
  const bool sets = command.second == Second::settings && command.command != Command::generate;
  if (sets) words += " [key=value ...]";
  if (!command.options.empty()) words += " [options]";
  if (command.trailing) words += " [-- WORDS]";
  return words;
}

std::vector<std::string> words_of(const Option& option) {
  if (const auto* choice = std::get_if<OneOfWords>(&option.kind)) {
    return {choice->words.begin(), choice->words.end()};
  }
  if (std::holds_alternative<Rule<BeamEnd>>(option.kind)) return {"no", "yes", "never"};
  return {};
}

std::span<const Ending> endings() {
  static constexpr Ending kEndings[] = {
      {Exit::kFinished, "finished"},
      {Exit::kUsage, "usage or configuration"},
      {Exit::kInput, "input data"},
      {Exit::kNoCheckpoint, "no checkpoint that verifies"},
      {Exit::kIo, "I/O"},
      {Exit::kDoesNotFit, "does not fit in memory"},
      {Exit::kNumerics, "numerics"},
      {Exit::kRanksDisagree, "ranks disagree"},
      {Exit::kInUse, "in use"},
      {Exit::kHang, "hang"},
      {Exit::kInternal, "internal"},
      {Exit::kDevice, "a broken card or driver, or a replay with other bits"},
      {Exit::kRequeue, "stopped early, saved: start again"},
  };
  return kEndings;
}

std::string_view text_of(Exit exit) {
  const auto found = std::ranges::find(endings(), exit, &Ending::exit);
  return found == endings().end() ? "" : found->text;
}

}  // namespace zero::usage
