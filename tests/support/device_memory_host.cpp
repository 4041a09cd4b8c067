#include "tests/support/device_memory.hpp"

namespace zero::testing {

int with_shared_memory(int (*work)(void*), void* argument) { return work(argument); }

}  // namespace zero::testing
