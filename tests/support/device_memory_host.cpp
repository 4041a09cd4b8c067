#include <cstring>
#include <new>

#include "tests/support/device_memory.hpp"

namespace zero::testing {

bool has_device() { return true; }

int with_shared_memory(int (*work)(void*), void* argument) { return work(argument); }

void* take_device_memory(size_t bytes) { return ::operator new(bytes, std::align_val_t(256)); }
void give_device_memory(void* place) noexcept { ::operator delete(place, std::align_val_t(256)); }
void copy_device_memory(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace zero::testing
