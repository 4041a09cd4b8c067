#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/comm/counter.hpp"
#include "src/comm/host_communicator.hpp"
#include "zero/comm/mpi_world.hpp"

namespace zero::comm {

/// A file descriptor that closes itself. -1 is invalid.
class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  ~File();
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int fd() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// The layout of a segment: a head, then `depth` slots, each with room for one Call and
/// `slot_bytes` of payload. Chunk k of a channel's life travels in slot k modulo `depth`.
struct SlotLayout {
  int depth;
  int64_t slot_bytes;

  bool operator==(const SlotLayout&) const = default;
  int64_t segment_bytes() const;
};

/// Returns the layout that `staging_bytes` allows. Throws Error(kUsage) if a slot has no room for
/// 64 bytes to each peer.
SlotLayout layout_of(int64_t staging_bytes, int ranks);

/// Makes a nameless file in memory, with a sealed size and reserved memory, so no access can end in
/// SIGBUS. Throws Error(kDoesNotFit).
File make_memory_file(int64_t bytes);

/// The identity of a descriptor's file, equal in all processes that share a kernel.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// Returns zeros for an invalid file.
FileIdentity identity_of(const File& file);

/// The mapped segment of one rank. Its owner writes it, its peers read it.
class Segment {
 public:
  Segment(const File& file, const SlotLayout& layout);
  ~Segment();
  Segment(Segment&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), layout_(other.layout_) {}
  Segment& operator=(Segment&&) = delete;

  /// filled(): chunks that the owner has staged. drained(): chunks of all peers that the owner has
  /// finished reading.
  Counter& filled() const { return head().filled; }
  Counter& drained() const { return head().drained; }
  Call& call(uint32_t chunk) const;
  std::byte* payload(uint32_t chunk) const;

 private:
  struct Head {
    Counter filled;
    Counter drained;
  };
  static constexpr int64_t kCallBytes = 128;

  friend struct SlotLayout;
  Head& head() const { return *reinterpret_cast<Head*>(base_); }
  std::byte* slot(uint32_t chunk) const;

  std::byte* base_ = nullptr;
  SlotLayout layout_;
};

/// The files of all ranks, in rank order. Empty for this rank, and for a peer whose file could not
/// be opened. A file is accepted only if it is the one that the peer made.
using PeerFiles = std::vector<File>;

/// Opens /proc/<pid>/fd/<fd> of every peer. Collective.
PeerFiles open_through_proc(const World& world, const File& mine);

/// Sends this rank's file to every peer over a Unix socket with a random abstract name, if /proc
/// does not show the peers. Waits at most 10 s per peer. Collective.
PeerFiles pass_through_sockets(const World& world, const File& mine);

/// Returns the files by open_through_proc(), or by pass_through_sockets() if that fails on any
/// rank. Throws Error(kUsage) on all ranks if both fail. Collective.
PeerFiles files_of_peers(const World& world, const File& mine);

}  // namespace zero::comm
