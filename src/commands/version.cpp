#include "src/commands/version.hpp"

namespace zero::commands {

std::string version() { return ZERO_VERSION; }

}  // namespace zero::commands
