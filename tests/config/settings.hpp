#pragma once
/// Input files made of lines, and what read_config() says of them.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/models.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"

namespace zero {

using Lines = std::vector<std::string>;  // "section.key = value"

inline std::string key_of(const std::string& line) { return line.substr(0, line.find(' ')); }

/// What every run needs, but for the keys that `more` says, and then `more`.
inline Lines complete(const Lines& more) {
  Lines lines;
  for (const std::string line :
       {"model.name = \"gpt2\"", "data.train = \"t.txt\"", "run.steps = 10"}) {
    bool said = false;
    for (const std::string& other : more) said = said || key_of(other) == key_of(line);
    if (!said) lines.push_back(line);
  }
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

inline std::string join(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// The lines as they are typed after the input file: "key=value".
inline Lines as_overrides(Lines lines) {
  for (std::string& line : lines) line.replace(line.find(" = "), 3, "=");
  return lines;
}

/// What is wrong with them, "" if nothing is.
inline std::string error_of(const Lines& file, const Lines& overrides = {}) {
  try {
    read_config(join(file), "in.toml", overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage) << join(file);
    return error.what();
  }
  return "";
}

/// Whether a line of `error` begins so.
inline bool says(const std::string& error, const std::string& begin) {
  return error.starts_with(begin) || error.find("\n" + begin) != error.npos;
}

}  // namespace zero
