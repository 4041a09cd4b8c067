#pragma once

#include <string>

namespace zero::commands {

/// "0.1.0 (07f5208)": the release, and the commit that the build folder was configured at.
std::string version();

}  // namespace zero::commands
