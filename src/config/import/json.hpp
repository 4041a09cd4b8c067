#pragma once

#include <string>
#include <string_view>

#include "src/config/import/source.hpp"
#include "src/config/text_cursor.hpp"

namespace zero {

/// Reads an object of JSON as DeepSpeed's users write it: with // # and /* */ comments and commas
/// behind the last member. An array that holds more than plain values is the text "[...]". Throws
/// Error(kUsage), "file:line: what", on anything else; `file` is for messages.
Source read_json(std::string_view text, const std::string& file);

/// A string in double quotes, with JSON's escapes. Throws SyntaxError.
std::string read_json_string(TextCursor& cursor);

}  // namespace zero
