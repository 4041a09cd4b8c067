// Test programs of a build with CUDA: the heap is managed memory from with_shared_memory() on, and
// what runs there has its stack in managed memory too.

#include <cuda_runtime_api.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "tests/support/device_memory.hpp"

namespace {

std::atomic<bool> shares{false};

/// What lies in front of a block, so that it is given back to where it came from.
struct alignas(64) Header {
  void* block;
  bool managed;
};

void* take(size_t bytes, size_t alignment) {
  const size_t most = bytes + sizeof(Header) + alignment;
  void* block = nullptr;
  const bool managed =
      shares && cudaMallocManaged(&block, most, cudaMemAttachGlobal) == cudaSuccess;
  if (!managed) block = std::malloc(most);
  if (block == nullptr) throw std::bad_alloc();
  const uintptr_t first = reinterpret_cast<uintptr_t>(block) + sizeof(Header);
  const uintptr_t place = (first + alignment - 1) / alignment * alignment;
  *(reinterpret_cast<Header*>(place) - 1) = {block, managed};
  return reinterpret_cast<void*>(place);
}

void give(void* place) noexcept {
  if (place == nullptr) return;
  const Header header = *(static_cast<Header*>(place) - 1);
  if (header.managed) {
    static_cast<void>(cudaFree(header.block));
  } else {
    std::free(header.block);
  }
}

struct Task {
  int (*work)(void*);
  void* argument;
  int result;
};

void* run(void* given) {
  auto* const task = static_cast<Task*>(given);
  task->result = task->work(task->argument);
  return nullptr;
}

bool succeeds(bool step, const char* what) {
  if (!step) std::fprintf(stderr, "test memory: %s failed\n", what);
  return step;
}

}  // namespace

void* operator new(size_t bytes) { return take(bytes, alignof(Header)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return take(bytes, size_t(alignment) < alignof(Header) ? alignof(Header) : size_t(alignment));
}
void operator delete(void* place) noexcept { give(place); }
void operator delete(void* place, size_t) noexcept { give(place); }
void operator delete(void* place, std::align_val_t) noexcept { give(place); }
void operator delete(void* place, size_t, std::align_val_t) noexcept { give(place); }

namespace zero::testing {

bool has_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return true;
  std::fprintf(stderr, "these tests run on a GPU, and none is here: %s\n",
               cudaGetErrorString(status));
  return false;
}

int with_shared_memory(int (*work)(void*), void* argument) {
  constexpr size_t kStackBytes = size_t(16) << 20;
  void* stack = nullptr;
  pthread_attr_t attributes;
  pthread_t thread{};
  Task task{work, argument, 1};
  const bool ready =
      succeeds(cudaMallocManaged(&stack, kStackBytes, cudaMemAttachGlobal) == cudaSuccess,
               "managed memory") &&
      succeeds(pthread_attr_init(&attributes) == 0 &&
                   pthread_attr_setstack(&attributes, stack, kStackBytes) == 0,
               "a stack of it");
  if (!ready) return 1;
  shares = true;
  const bool ran =
      succeeds(pthread_create(&thread, &attributes, run, &task) == 0, "a thread on it") &&
      succeeds(pthread_join(thread, nullptr) == 0, "waiting for it");
  shares = false;
  return ran ? task.result : 1;
}

}  // namespace zero::testing
