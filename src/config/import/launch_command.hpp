#pragma once

#include <string>

#include "src/config/import/files.hpp"
#include "src/config/import/source.hpp"
#include "src/config/import/translation.hpp"

namespace zero {

/// Returns the report's line with the mpirun command that starts as many ranks as the launchers'
/// flags and Accelerate's configuration ask for, on the same hosts and GPUs. It has RANKS for a
/// number that a launcher counts itself, which is a warning. "" if nobody says how many there are.
/// Refuses in the translation what no such command can start. `name` is that of the input file.
std::string launch_command(Translation& translation, const Source& flags, const ImportFiles& files,
                           const std::string& name);

}  // namespace zero
