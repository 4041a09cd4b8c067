#pragma once

#include <string>

#include "src/config/import/files.hpp"
#include "src/config/import/nested_file.hpp"
#include "src/config/import/translation.hpp"

namespace zero {

/// Returns the report's line with an mpirun command. It starts the ranks of the launchers' flags
/// and Accelerate's configuration, on the same hosts and GPUs. A number that a launcher counts
/// itself becomes RANKS, with a warning. "" if no source gives the number. Refuses in the
/// translation anything that such a command cannot start. `name` is the name of the input file.
std::string launch_command(Translation& translation, const Source& flags, const ImportFiles& files,
                           const std::string& name);

}  // namespace zero
