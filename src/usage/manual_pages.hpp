#pragma once
/// Manual pages in the language of man(7).

#include <string>
#include <vector>

#include "src/usage/command_table.hpp"
#include "zero/config/key_help.hpp"

namespace zero::usage {

/// Returns zeroapp(1): the commands, with their pages, and the exit statuses.
std::string program_page();

/// Returns zeroapp-COMMAND(1).
std::string command_page(const Syntax& command);

/// Returns zeroapp-input(5): the input file and every key.
std::string input_page(const std::vector<KeyHelp>& keys);

}  // namespace zero::usage
