#pragma once

#include <map>
#include <span>
#include <string>

#include "src/config/fields.hpp"

namespace zero {

/// One line of the input file to be.
struct Setting {
  TomlValue value;
  std::string origin;  ///< stands behind it as a comment
  bool open = false;   ///< somebody has to give its value
  bool given = false;  ///< on the command line, so that it wins
};

using Settings = std::map<std::string, Setting>;  // by key

/// The text of an input file in the order and the sections of `fields`. An open setting is written
/// such that read_config() refuses it: as a word where a number belongs, or not at all where it
/// misses the key.
std::string input_file(std::span<const Field> fields, const Settings& settings);

}  // namespace zero
