#pragma once

#include <cstdint>
#include <string>

namespace zero::commands {

/// The whole of what a command line names: of a regular file, or of a pipe up to its end, as
/// /dev/stdin after `|` is one, and what a shell makes of <(command). A writer may take its time.
/// Throws Error(kInput) where there is neither, more than `limit` bytes, nobody who writes into a
/// pipe within ten seconds, or what cannot be read.
std::string read_file_or_pipe(const std::string& path, int64_t limit);

}  // namespace zero::commands
