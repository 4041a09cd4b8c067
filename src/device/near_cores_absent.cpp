#include "zero/device/device.hpp"

namespace zero {

std::vector<int> cores_near(const std::string&, const std::string&) { return {}; }

bool knows_machines() { return false; }

}  // namespace zero
