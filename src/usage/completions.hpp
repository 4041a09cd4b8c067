#pragma once
/// Completions of shells: commands, options with their words, files, and behind an input file keys
/// with their legal words.

#include <string>
#include <vector>

#include "zero/config/key_help.hpp"

namespace zero::usage {

/// Returns a script that bash sources.
std::string bash_completion(const std::vector<KeyHelp>& keys);

/// Returns a function file of zsh, _zeroapp in a folder of fpath.
std::string zsh_completion(const std::vector<KeyHelp>& keys);

/// Returns a script in a folder of fish's completions.
std::string fish_completion(const std::vector<KeyHelp>& keys);

}  // namespace zero::usage
