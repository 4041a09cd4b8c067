#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zero::usage {

/// A blank at which no line ends.
inline constexpr char kJoint = '\t';

/// Returns `words` in lines of at most 100 columns. Each line behind the first begins with `indent`
/// blanks; the first goes on behind `begin` columns that are printed already. Ends with \n.
std::string wrapped(std::string_view words, size_t indent, size_t begin);

/// Returns rows of a name and its text, which begins in one column for all rows.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows);

}  // namespace zero::usage
