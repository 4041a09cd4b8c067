#pragma once
/// Text as a user gives it, in files and pipes, and bytes as they are shown.

#include <cstdint>
#include <string>
#include <string_view>

namespace zero::commands {

/// Returns the whole of a regular file, or of a pipe up to its end: /dev/stdin after `|`, or
/// <(command) in a shell. A writer may pause. Throws Error(kInput) if `path` is neither, cannot be
/// read, has more than `limit` bytes, or is a pipe that nobody writes into within ten seconds.
std::string read_file_or_pipe(const std::string& path, int64_t limit);

/// Returns `bytes` on one line between quotes. Escapes \n, \t, \r, \" and \\, and other control
/// bytes and bytes that are not UTF-8 as \x1f. Replaces text beyond `width` characters by "...".
std::string escaped_text(std::string_view bytes, size_t width);

}  // namespace zero::commands
