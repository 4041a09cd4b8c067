#include "zero/device/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/device/memory.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/process_limits.hpp"

namespace zero {
namespace {

constexpr int64_t kHugeBytes = int64_t(2) << 20;

int64_t page_bytes() { return sysconf(_SC_PAGESIZE); }

/// Returns the bytes of address space to reserve for a block of `bytes`. It has room to begin at a
/// huge page, and a forbidden page on either side, so the kernel never merges the block with
/// others.
int64_t reserved_bytes(int64_t bytes) {
  return round_up(bytes, page_bytes()) + 2 * kHugeBytes + page_bytes();
}

std::byte* block_start(void* reserved) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(reserved) + uintptr_t(page_bytes());
  return reinterpret_cast<std::byte*>(round_up(first, uintptr_t(kHugeBytes)));
}

[[noreturn]] void refuse_bytes(int64_t bytes) {
  refuse(Exit::kDoesNotFit, "an arena of ", bytes, " bytes does not fit: ", available_bytes(),
         " bytes are available on this machine; a limit of the process (ulimit -v, -d) may leave "
         "less");
}

}  // namespace

int64_t host_available_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    int64_t kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %" SCNd64, &kib) == 1) return kib * 1024;
  }
  return -1;
}

int64_t available_bytes() {
  const int64_t host = host_available_bytes(), group = group_memory_limit();
  return group >= 0 && (host < 0 || group < host) ? group : host;
}

Arena::Arena(int64_t bytes, Place place, int threads) : bytes_(bytes) {
  ZERO_REQUIRE(bytes >= 0, "arena of ", bytes, " bytes");
  if (bytes == 0) return;
  if (place == Place::device && has_device_memory()) {
    *this = Arena(take_device_memory(bytes), bytes, &give_device_memory);
    return;
  }
  map(bytes);
  if (place == Place::host || !has_device_memory()) return;
  // A constructor that throws runs no destructor, so another arena owns the mapping meanwhile.
  Arena unpinned(std::move(*this));
  unpinned.touch(threads);
  pin_memory(unpinned.base_, bytes);
  *this = std::move(unpinned);
  pinned_ = true;
}

Arena::Arena(std::byte* taken, int64_t bytes, void (*give_back)(std::byte*) noexcept)
    : base_(taken), bytes_(bytes), give_back_(give_back) {}

Arena Arena::part_of(const Arena& whole, int64_t begin) {
  ZERO_REQUIRE(0 <= begin && begin <= whole.bytes_, "bytes from ", begin, " on of an arena of ",
               whole.bytes_);
  const auto keep = [](std::byte*) noexcept {};
  const bool was_mapped = whole.give_back_ == nullptr;
  return Arena(whole.base_ + begin, whole.bytes_ - begin, was_mapped ? nullptr : +keep);
}

void Arena::map(int64_t bytes) {
  const int64_t available = available_bytes();
  if (available >= 0 && bytes > available) refuse_bytes(bytes);
  void* reserved = mmap(nullptr, size_t(reserved_bytes(bytes)), PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) refuse_bytes(bytes);
  base_ = block_start(reserved);
  reserved_ = reserved;
  const size_t rounded = size_t(round_up(bytes, page_bytes()));
  if (mprotect(base_, rounded, PROT_READ | PROT_WRITE) != 0) {
    munmap(reserved, size_t(reserved_bytes(bytes)));
    refuse_bytes(bytes);
  }
  // This is only advice: a kernel without huge pages serves the bytes in small pages.
  madvise(base_, rounded, MADV_HUGEPAGE);
}

Arena::~Arena() {
  if (base_ == nullptr) return;
  if (pinned_) unpin_memory(base_);
  if (give_back_ != nullptr) {
    give_back_(base_);
  } else if (reserved_ != nullptr) {
    munmap(reserved_, size_t(reserved_bytes(bytes_)));
  }
}

Arena::Arena(Arena&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      reserved_(std::exchange(other.reserved_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      pinned_(std::exchange(other.pinned_, false)),
      give_back_(std::exchange(other.give_back_, nullptr)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(reserved_, other.reserved_);
  std::swap(bytes_, other.bytes_);
  std::swap(pinned_, other.pinned_);
  std::swap(give_back_, other.give_back_);
  return *this;
}

bool Arena::on_host() const { return give_back_ == nullptr || !has_device_memory(); }

int64_t Arena::resident_bytes() const { return mapped_bytes("Rss:"); }
int64_t Arena::huge_bytes() const { return mapped_bytes("AnonHugePages:"); }

int64_t Arena::mapped_bytes(const char* which) const {
  if (base_ == nullptr) return 0;
  if (give_back_ != nullptr) return bytes_;
  std::ifstream smaps("/proc/self/smaps");
  const uintptr_t base = reinterpret_cast<uintptr_t>(base_);
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    uintptr_t first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &first, &last) == 2) {
      inside = first == base;
    } else if (inside && line.starts_with(which)) {
      return std::atoll(line.c_str() + std::strlen(which)) * 1024;
    }
  }
  refuse(Exit::kIo, "/proc/self/smaps does not list the arena at ", static_cast<void*>(base_));
}

void Arena::touch(int threads) {
  ZERO_REQUIRE(threads >= 1, "touch with ", threads, " threads: at least 1");
  if (give_back_ != nullptr || pinned_) return;
  const int64_t share = round_up(ceil_div(bytes_, int64_t(threads)), kHugeBytes);
  std::vector<std::jthread> workers;
  for (int64_t begin = 0; begin < bytes_; begin += share) {
    workers.emplace_back([this, begin, end = std::min(begin + share, bytes_)] {
      for (int64_t at = begin; at < end; at += page_bytes()) {
        volatile std::byte* page = base_ + at;
        *page = *page;
      }
    });
  }
}

}  // namespace zero
