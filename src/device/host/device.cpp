#include "zero/device/device.hpp"

#include "zero/base/error.hpp"

namespace zero {

bool drives_devices() { return false; }
const char* device_kind() { return "host"; }

std::vector<DeviceInfo> usable_devices() { return {}; }
std::string device_trouble() { return "this is a build for the host alone"; }

void use_device(int index) {
  ZERO_REQUIRE(false, "device ", index, " of a build that drives none");
}

int device_in_use() { return -1; }

std::string device_text() { return ""; }

int64_t free_device_bytes() { return -1; }
int64_t used_device_bytes() { return -1; }

}  // namespace zero
