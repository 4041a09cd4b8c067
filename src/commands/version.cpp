#include "src/commands/commands.hpp"

namespace zero::commands {

std::string version() { return ZERO_VERSION; }

}  // namespace zero::commands
