#pragma once

#include <string>
#include <string_view>

#include "zero/io/files/open_file.hpp"

namespace zero::launch {

/// Makes 0, 1 and 2 be open: a file that took the place of a closed console would receive what is
/// said to it. Writing to what takes that place here fails, as it would to a closed one.
void occupy_standard_files();

/// The whole file; "" where it cannot be read.
std::string file_text(const std::string& path);

/// Why `path`, by which a user means a run, a folder of checkpoints, one of them or a model, is
/// none of these, and what stands beside it.
std::string no_folder_text(const std::string& path);

/// Gives the file this content; whoever reads it finds the old or the new one. Throws Error(kIo)
/// with path and reason.
void write_file(const std::string& path, std::string_view content);

}  // namespace zero::launch
