// Test programs of a build with CUDA: from with_shared_memory() on the heap, and the stack of what
// runs there, lie in one stretch of host memory that the device can reach. To ask the driver for
// each block would take most of a test's time, and is not allowed while a stream is recorded. All
// of it is valid memory to the device, so a mark behind each block shows who writes beyond its end.

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "tests/support/device_memory.hpp"

namespace {

constexpr size_t kPoolBytes = size_t(3) << 30, kStackBytes = size_t(16) << 20;

/// Blocks of powers of two; what is given back waits in a list of its size.
class Pool {
 public:
  /// Once. The first bytes are the stack.
  bool open() {
    void* const all = mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return false;
    if (cudaHostRegister(all, kPoolBytes, cudaHostRegisterPortable | cudaHostRegisterMapped) !=
        cudaSuccess) {
      return false;
    }
    used_ = kStackBytes;
    begin_ = static_cast<std::byte*>(all);
    return true;
  }
  void* stack() const { return begin_; }

  bool has(const void* block) const {
    const std::byte* const begin = begin_;
    return begin && block >= begin && block < begin + kPoolBytes;
  }

  void* take(int order) {
    const std::lock_guard lock(mutex_);
    if (void* const block = free_[size_t(order)]) {
      free_[size_t(order)] = *static_cast<void**>(block);
      return block;
    }
    const size_t bytes = size_t(1) << order;
    if (bytes > kPoolBytes - used_) return nullptr;
    used_ += bytes;
    return begin_ + (used_ - bytes);
  }

  void give(void* block, int order) {
    const std::lock_guard lock(mutex_);
    *static_cast<void**>(block) = free_[size_t(order)];
    free_[size_t(order)] = block;
  }

 private:
  std::atomic<std::byte*> begin_{nullptr};
  size_t used_ = 0;
  std::array<void*, 64> free_{};  ///< by binary logarithm of their bytes
  std::mutex mutex_;
};
constinit Pool pool;
std::atomic<bool> shares{false};

/// What lies in front of a block, so that it is given back to where it came from.
struct alignas(64) Header {
  void* block;
  int order;
  size_t bytes;
};

/// What lies behind a block until it is given back.
constexpr size_t kMarkBytes = 64;
constexpr int kMark = 0xa5;

void require_mark(const Header& header, const std::byte* end) {
  for (size_t i = 0; i < kMarkBytes; ++i) {
    if (end[i] == std::byte(kMark)) continue;
    std::fprintf(stderr, "test memory: somebody wrote %zu bytes behind a block of %zu bytes\n", i,
                 header.bytes);
    std::abort();
  }
}

void* take(size_t bytes, size_t alignment) {
  const size_t most = bytes + sizeof(Header) + alignment + kMarkBytes;
  const int order = int(std::bit_width(most - 1));
  void* const block = shares ? pool.take(order) : std::malloc(most);
  if (block == nullptr) {
    std::fprintf(stderr, "test memory: %zu bytes more than there are\n", bytes);
    throw std::bad_alloc();
  }
  const uintptr_t first = reinterpret_cast<uintptr_t>(block) + sizeof(Header);
  const uintptr_t place = (first + alignment - 1) / alignment * alignment;
  *(reinterpret_cast<Header*>(place) - 1) = {block, order, bytes};
  std::memset(reinterpret_cast<std::byte*>(place) + bytes, kMark, kMarkBytes);
  return reinterpret_cast<void*>(place);
}

void give(void* place) noexcept {
  if (place == nullptr) return;
  const Header header = *(static_cast<Header*>(place) - 1);
  require_mark(header, static_cast<const std::byte*>(place) + header.bytes);
  if (pool.has(header.block)) return pool.give(header.block, header.order);
  std::free(header.block);
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

void* take_device_memory(size_t bytes) {
  void* place = nullptr;
  if (!succeeds(cudaMalloc(&place, bytes) == cudaSuccess, "memory of the device")) {
    throw std::bad_alloc();
  }
  return place;
}

void give_device_memory(void* place) noexcept { cudaFree(place); }

void copy_device_memory(void* to, const void* from, size_t bytes) {
  if (succeeds(cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess, "a copy")) return;
  std::abort();
}

int with_shared_memory(int (*work)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_t thread{};
  Task task{work, argument, 1};
  const bool ready =
      succeeds(pool.open(), "host memory that the device reaches") &&
      succeeds(pthread_attr_init(&attributes) == 0 &&
                   pthread_attr_setstack(&attributes, pool.stack(), kStackBytes) == 0,
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
