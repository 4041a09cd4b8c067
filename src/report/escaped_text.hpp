#pragma once
/// Texts from the files of a run, which may come from elsewhere, as they are shown.

#include <string>
#include <string_view>

namespace zero::report {

/// Returns a text for a terminal: control characters and bytes that are not UTF-8 become "?".
std::string plain(std::string_view text);

/// Returns a text for HTML and SVG, as content or in quotes: plain() with escaped < > & " and '.
std::string escaped(std::string_view text);

/// Returns a text in lines of at most 100 characters that break at blanks, each with its end.
std::string in_lines(std::string_view text);

/// Returns the last part of a path: "mine" of "runs/mine/".
std::string name_of_run(std::string_view path);

}  // namespace zero::report
