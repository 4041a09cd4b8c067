#include "src/device/memory.hpp"

#include "zero/base/error.hpp"

namespace zero {
namespace {

[[noreturn]] void no_device() {
  refuse(Exit::kInternal, "this build's device is the host, which has no memory of its own");
}

}  // namespace

bool has_device_memory() { return false; }

std::byte* take_device_memory(int64_t) { no_device(); }
void give_device_memory(std::byte*) noexcept {}
void pin_memory(std::byte*, int64_t) { no_device(); }
void unpin_memory(std::byte*) noexcept {}

}  // namespace zero
