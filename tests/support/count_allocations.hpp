#pragma once
/// Replaces operator new of the program that includes this header, in exactly one of its files, and
/// counts what it hands out. oneDNN makes an argument map on the heap at every call, which nobody
/// above it can help, so what is asked for from inside that library is not counted.

#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace zero::testing {

inline std::atomic<int64_t> allocations{0};
/// Looking up the caller costs, so only while a test counts.
inline std::atomic<bool> counting{false};

inline bool in_onednn(const void* caller) {
  Dl_info info{};
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "libdnnl") != nullptr;
}

inline void* allocate(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (counting && !in_onednn(caller)) ++allocations;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) != 0) throw std::bad_alloc();
  return memory;
}

/// Bytes that the heap has grown by, the least of three times of `work`: threads of Open MPI
/// allocate now and then in between, work that does would each time.
template <class Work>
std::size_t least_heap_growth(const Work& work) {
  std::size_t least = SIZE_MAX;
  for (int round = 0; round < 3; ++round) {
    const std::size_t before = mallinfo2().uordblks;
    work();
    least = std::min(least, std::max(before, mallinfo2().uordblks) - before);
  }
  return least;
}

}  // namespace zero::testing

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return zero::testing::allocate(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return zero::testing::allocate(bytes, std::size_t(alignment), __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return zero::testing::allocate(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
