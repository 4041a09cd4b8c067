#include "zero/device/device.hpp"

#include <Kokkos_Core.hpp>
#include <cstring>

#include "src/device/memory.hpp"
#include "zero/base/error.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/region.hpp"

namespace zero {
namespace {

[[noreturn]] void no_device() {
  refuse(Exit::kInternal, "this build's device is the host, which has no memory of its own");
}

}  // namespace

bool drives_devices() { return false; }
const char* device_kind() { return "host"; }

std::vector<DeviceInfo> usable_devices() { return {}; }
std::string device_trouble() { return "this is a build for the host alone"; }
Exit exit_of_device_trouble() { return Exit::kUsage; }

void use_device(int index) {
  ZERO_REQUIRE(false, "device ", index, " of a build that drives none");
}

int device_in_use() { return -1; }

std::string device_text() { return ""; }

int64_t free_device_bytes() { return -1; }
int64_t used_device_bytes() { return -1; }

bool has_device_memory() { return false; }

std::byte* take_device_memory(int64_t) { no_device(); }
void give_device_memory(std::byte*) noexcept {}
void pin_memory(std::byte*, int64_t) { no_device(); }
void unpin_memory(std::byte*) noexcept {}

// Copies at once, because kernels of a host stream are done when their calls return.
void copy_bytes(Stream&, std::span<const std::byte> from, std::byte* to) {
  std::memcpy(to, from.data(), from.size());
}

bool tool_listens() { return Kokkos::Tools::profileLibraryLoaded(); }
bool regions_are_of_threads() { return false; }

void Region::push(const std::string& name) { Kokkos::Tools::pushRegion(name); }

void Region::pop() { Kokkos::Tools::popRegion(); }

}  // namespace zero
