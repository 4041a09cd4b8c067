#include "tests/support/device_memory.hpp"

namespace zero::testing {

bool has_device() { return true; }

int with_shared_memory(int (*work)(void*), void* argument) { return work(argument); }

}  // namespace zero::testing
