#include "src/comm/shm_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "zero/base/error.hpp"

namespace zero::comm {
namespace {

// Small enough to start reading soon; enough of them that a rank which loses its core for a moment
// seldom makes a peer sleep.
constexpr int64_t kBestSlotBytes = int64_t(512) << 10;
constexpr int kMaxDepth = 8;
constexpr int64_t kCacheLine = 64;
static_assert(kBestSlotBytes >= (kMostRanks - 1) * kCacheLine, "a slot has a line for each peer");

[[noreturn]] void refuse_memory(int64_t bytes, const char* what, int error) {
  refuse(Exit::kDoesNotFit, "shared memory of ", bytes, " bytes for this rank: ", what, ": ",
         std::strerror(error), " - leave more memory free or start fewer ranks on this node");
}

}  // namespace

File::~File() {
  if (fd_ >= 0) close(fd_);
}

int64_t SlotLayout::segment_bytes() const {
  return int64_t(sizeof(Segment::Head)) + depth * (Segment::kCallBytes + slot_bytes);
}

SlotLayout layout_of(int64_t staging_bytes, int ranks) {
  // A power of two, so that the slot of chunk k stays k modulo depth when a 32-bit k wraps.
  const int64_t wanted = std::clamp(staging_bytes / kBestSlotBytes, int64_t(2), int64_t(kMaxDepth));
  const int64_t depth = int64_t(std::bit_floor(uint64_t(wanted)));
  const int64_t slot_bytes =
      std::min(staging_bytes / depth, kBestSlotBytes) / kCacheLine * kCacheLine;
  const int64_t least = std::max(1, ranks - 1) * kCacheLine;
  if (slot_bytes < least) {
    refuse(Exit::kUsage, "staging of ", staging_bytes, " bytes for ", ranks,
           " ranks in shared memory: need at least ", 2 * least);
  }
  return {.depth = int(depth), .slot_bytes = slot_bytes};
}

File make_memory_file(int64_t bytes) {
  File file(memfd_create("zero_comm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) refuse_memory(bytes, "memfd_create", errno);
  if (ftruncate(file.fd(), bytes) != 0) refuse_memory(bytes, "ftruncate", errno);
  const int error = posix_fallocate(file.fd(), 0, bytes);
  if (error != 0) refuse_memory(bytes, "fallocate", error);
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (fcntl(file.fd(), F_ADD_SEALS, seals) != 0) refuse_memory(bytes, "sealing its size", errno);
  return file;
}

FileIdentity identity_of(const File& file) {
  struct stat status {};
  if (!file.valid() || fstat(file.fd(), &status) != 0) return {};
  return {.device = uint64_t(status.st_dev), .inode = uint64_t(status.st_ino)};
}

Segment::Segment(const File& file, const SlotLayout& layout) : layout_(layout) {
  const int64_t bytes = layout.segment_bytes();
  void* base =
      mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.fd(), 0);
  if (base == MAP_FAILED) refuse_memory(bytes, "mmap", errno);
  base_ = static_cast<std::byte*>(base);
}

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, size_t(layout_.segment_bytes()));
}

std::byte* Segment::slot(uint32_t chunk) const {
  const int64_t index = chunk % uint32_t(layout_.depth);
  return base_ + sizeof(Head) + index * (kCallBytes + layout_.slot_bytes);
}

Call& Segment::call(uint32_t chunk) const { return *reinterpret_cast<Call*>(slot(chunk)); }

std::byte* Segment::payload(uint32_t chunk) const { return slot(chunk) + kCallBytes; }

}  // namespace zero::comm
