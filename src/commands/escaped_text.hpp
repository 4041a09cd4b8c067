#pragma once

#include <string>
#include <string_view>

namespace zero::commands {

/// `bytes` on one line between quotes: \n, \t, \r, \" and \\ are escaped, and as \x1f any other
/// control byte and what is no UTF-8. What would take more than `width` characters ends in "...".
std::string escaped_text(std::string_view bytes, size_t width);

}  // namespace zero::commands
