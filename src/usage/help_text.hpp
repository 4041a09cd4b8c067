#pragma once
/// The texts of `zeroapp help`, in lines of at most 100 columns.

#include <string>
#include <vector>

#include "src/usage/command_table.hpp"
#include "zero/config/key_help.hpp"
#include "zero/model/family.hpp"

namespace zero::usage {

/// Returns the commands, a line each, with two examples and the exit statuses.
std::string program_help(const model::Catalogue& catalogue);

/// Returns the options of a command with their defaults, its examples and its exit statuses.
std::string command_help(const Syntax& command);

/// Returns the text of a key, its default, its legal values, the settings it acts with, and its
/// names in DeepSpeed and Transformers.
std::string key_text(const KeyHelp& key);

/// Returns a line for each key.
std::string list_of_keys(const std::vector<KeyHelp>& keys);

/// Returns a line for each command, option and key whose texts have all the words, in any case of
/// letters; "" for none.
std::string search_text(const std::vector<KeyHelp>& keys, const std::vector<std::string>& words);

/// Returns an option with its short name and its argument: "-o, --output NEW".
std::string spelling(const Option& option);

/// Returns the text of an option with its default: "ranks to plan for (1)".
std::string words_about(const Option& option);

/// Returns the exit statuses of a command: "0 finished, 2 usage or configuration", with kJoint
/// behind each number.
std::string exit_statuses(const Syntax& command);

/// Returns the sentences about a command: its title and the meaning of its input.
std::string sentences_about(const Syntax& command);

}  // namespace zero::usage
