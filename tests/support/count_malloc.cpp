// A library to be loaded ahead of the program (LD_PRELOAD): counts the blocks of memory that are
// asked for from the start of step COUNT_FIRST to the start of step COUNT_LAST, and who asks: the
// nearest caller that is neither the C nor the C++ library; also what is asked of the kernel past
// the heap, and by how much the heap grew. A step starts when a rank casts its vote, an
// MPI_Iallgather of 16 bytes. Then writes to COUNT_FILE.<rank>
//   allocated <blocks> freed <blocks> mapped <calls of mmap and sbrk> grown <bytes of the heap>
//   <blocks> <owner>+<address in it>      a line for every place that asked
#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

// glibc's own names: what the functions below stand in front of.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
void* __sbrk(intptr_t);
}

namespace {

constexpr int kFrames = 16;

struct CallSite {
  const void* address = nullptr;
  int64_t blocks = 0;
};

struct Counter {
  std::mutex mutex;
  std::array<CallSite, 4096> sites;
  std::atomic<int64_t> allocated{0}, freed{0}, mapped{0};
  int64_t heap_before = 0;
  std::atomic<bool> counting{false};
  int votes = 0;
};

Counter counter;
/// Finding out who asked must not count itself.
thread_local bool looking = false;

const char* module_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "unknown";
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash ? slash + 1 : info.dli_fname;
}

bool serves_others(const void* address) {
  const char* module = module_of(address);
  return std::strstr(module, "count_malloc") || std::strstr(module, "libstdc++") ||
         std::strstr(module, "libc.so");
}

const void* who_asked() {
  std::array<void*, kFrames> frames;
  const int depth = backtrace(frames.data(), kFrames);
  for (int i = 0; i < depth; ++i) {
    if (!serves_others(frames[size_t(i)])) return frames[size_t(i)];
  }
  return nullptr;
}

void count_block() {
  if (!counter.counting.load(std::memory_order_relaxed) || looking) return;
  looking = true;
  ++counter.allocated;
  const void* address = who_asked();
  const std::lock_guard<std::mutex> lock(counter.mutex);
  for (CallSite& site : counter.sites) {
    if (site.blocks > 0 && site.address != address) continue;
    site.address = address;
    ++site.blocks;
    break;
  }
  looking = false;
}

void count_mapping() {
  if (counter.counting.load(std::memory_order_relaxed) && !looking) ++counter.mapped;
}

/// What the C library has taken from the kernel for blocks; its own calls pass by our functions.
int64_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return int64_t(info.arena + info.hblkhd);
}

void write_report(int rank) {
  const char* stem = std::getenv("COUNT_FILE");
  char path[4096];
  std::snprintf(path, sizeof path, "%s.%d", stem ? stem : "blocks", rank);
  const int64_t heap_grown = heap_bytes() - counter.heap_before;
  std::FILE* file = std::fopen(path, "we");
  if (file == nullptr) return;
  std::fprintf(file, "allocated %lld freed %lld mapped %lld grown %lld\n",
               (long long)counter.allocated.load(), (long long)counter.freed.load(),
               (long long)counter.mapped.load(), (long long)heap_grown);
  for (const CallSite& site : counter.sites) {
    if (site.blocks == 0) break;
    Dl_info info{};
    dladdr(site.address, &info);
    const auto* base = static_cast<const char*>(info.dli_fbase);
    std::fprintf(file, "%lld %s+0x%llx\n", (long long)site.blocks, module_of(site.address),
                 (unsigned long long)(static_cast<const char*>(site.address) - base));
  }
  std::fclose(file);
}

int step_from(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::atoi(value) : -1;
}

void begin_step(MPI_Comm comm) {
  static const int first = step_from("COUNT_FIRST"), last = step_from("COUNT_LAST");
  const int step = ++counter.votes;
  if (step == last) {
    counter.counting = false;
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    write_report(rank);
  }
  if (step != first) return;
  // The first look loads the unwinder, which allocates.
  who_asked();
  counter.heap_before = heap_bytes();
  counter.counting = true;
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) noexcept {
  count_block();
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) noexcept {
  count_block();
  return __libc_calloc(count, bytes);
}
// A block that grows is asked for once more, and none is freed.
void* realloc(void* block, size_t bytes) noexcept {
  count_block();
  if (block != nullptr && counter.counting) ++counter.freed;
  return __libc_realloc(block, bytes);
}
void* memalign(size_t alignment, size_t bytes) noexcept {
  count_block();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  *block = memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
void free(void* block) noexcept {
  if (block != nullptr && !looking && counter.counting) ++counter.freed;
  __libc_free(block);
}

void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  count_mapping();
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
void* mmap64(void* at, size_t bytes, int protection, int flags, int file, off64_t from) noexcept {
  return mmap(at, bytes, protection, flags, file, from);
}
void* sbrk(intptr_t bytes) noexcept {
  count_mapping();
  return __sbrk(bytes);
}

int MPI_Iallgather(const void* mine, int numel, MPI_Datatype type, void* all, int all_numel,
                   MPI_Datatype all_type, MPI_Comm comm, MPI_Request* request) {
  if (numel == 16 && type == MPI_BYTE) begin_step(comm);
  return PMPI_Iallgather(mine, numel, type, all, all_numel, all_type, comm, request);
}
}
