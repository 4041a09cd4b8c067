#pragma once
/// Text as a user gives it, in files and pipes, and bytes as they are shown.

#include <cstdint>
#include <string>
#include <string_view>

namespace zero::commands {

/// The whole of what a command line names: of a regular file, or of a pipe up to its end, as
/// /dev/stdin after `|` is one, and what a shell makes of <(command). A writer may take its time.
/// Throws Error(kInput) where there is neither, more than `limit` bytes, nobody who writes into a
/// pipe within ten seconds, or what cannot be read.
std::string read_file_or_pipe(const std::string& path, int64_t limit);

/// `bytes` on one line between quotes: \n, \t, \r, \" and \\ are escaped, and as \x1f any other
/// control byte and what is no UTF-8. What would take more than `width` characters ends in "...".
std::string escaped_text(std::string_view bytes, size_t width);

}  // namespace zero::commands
