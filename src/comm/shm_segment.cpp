#include "src/comm/shm_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "zero/base/error.hpp"

namespace zero::comm {
namespace {

// Slots are small, so peers start to read soon. There are enough of them that a rank that loses its
// core for a moment seldom makes a peer sleep.
constexpr int64_t kBestSlotBytes = int64_t(512) << 10;
constexpr int kMaxDepth = 8;
constexpr int64_t kCacheLine = 64;
static_assert(kBestSlotBytes >= (kMostRanks - 1) * kCacheLine, "a slot has a line for each peer");

[[noreturn]] void refuse_memory(int64_t bytes, const char* what, int error) {
  refuse(Exit::kDoesNotFit, "shared memory of ", bytes, " bytes for this rank: ", what, ": ",
         std::strerror(error), " - leave more memory free or start fewer ranks on this node");
}

struct Address {
  int64_t pid;
  int64_t fd;
};

bool complete(const World& world, const PeerFiles& files) {
  bool all = true;
  for (int r = 0; r < world.ranks(); ++r) all &= r == world.rank() || files[size_t(r)].valid();
  return world.all(all);
}

constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};

/// A name with a leading zero byte, hence abstract: it lies in no folder and ends with its socket.
using Name = std::array<char, 32>;

struct Listener {
  File socket;
  Name name;
};

sockaddr_un address_of(const Name& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  return address;
}

constexpr socklen_t kAddressBytes = offsetof(sockaddr_un, sun_path) + sizeof(Name);

Listener listen_somewhere(int backlog) {
  Name name{};
  const bool random = getrandom(name.data() + 1, name.size() - 1, 0) == ssize_t(name.size() - 1);
  File file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(name);
  const bool listening =
      random && file.valid() &&
      bind(file.fd(), reinterpret_cast<const sockaddr*>(&address), kAddressBytes) == 0 &&
      listen(file.fd(), backlog) == 0 &&
      setsockopt(file.fd(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience)) == 0;
  return {.socket = listening ? std::move(file) : File(), .name = name};
}

/// A message with one rank number and one descriptor, and the memory for both.
struct Message {
  int32_t rank = 0;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec part{.iov_base = &rank, .iov_len = sizeof(rank)};
  msghdr head{};

  Message() {
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

bool send_file(const Name& to, int rank, const File& mine) {
  const File file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(to);
  if (!file.valid() ||
      connect(file.fd(), reinterpret_cast<const sockaddr*>(&address), kAddressBytes) != 0) {
    return false;
  }
  Message message;
  message.rank = rank;
  cmsghdr* control = CMSG_FIRSTHDR(&message.head);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = mine.fd();
  std::memcpy(CMSG_DATA(control), &fd, sizeof(fd));
  return sendmsg(file.fd(), &message.head, MSG_NOSIGNAL) == ssize_t(sizeof(message.rank));
}

bool sent_by_me(const File& connection) {
  ucred sender{};
  socklen_t bytes = sizeof(sender);
  return getsockopt(connection.fd(), SOL_SOCKET, SO_PEERCRED, &sender, &bytes) == 0 &&
         sender.uid == geteuid();
}

struct Received {
  int rank = -1;
  File file;
};

Received receive_file(const File& connection) {
  Received received;
  Message message;
  setsockopt(connection.fd(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  const ssize_t bytes = recvmsg(connection.fd(), &message.head, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  const cmsghdr* control = CMSG_FIRSTHDR(&message.head);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return received;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(control), sizeof(fd));
  received.file = File(fd);
  if (bytes == ssize_t(sizeof(message.rank))) received.rank = message.rank;
  return received;
}

/// Accepts connections, also from strangers, until every peer's file is there or nobody comes.
void receive_files(const File& listener, const std::vector<FileIdentity>& identities, int mine,
                   PeerFiles& files) {
  for (size_t missing = files.size() - 1; missing > 0;) {
    const File connection(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) return;
    if (!sent_by_me(connection)) continue;
    Received received = receive_file(connection);
    const bool known = received.rank >= 0 && received.rank < int(files.size()) &&
                       received.rank != mine && !files[size_t(received.rank)].valid();
    if (!known || identity_of(received.file) != identities[size_t(received.rank)]) continue;
    files[size_t(received.rank)] = std::move(received.file);
    --missing;
  }
}

}  // namespace

File::~File() {
  if (fd_ >= 0) close(fd_);
}

int64_t SlotLayout::segment_bytes() const {
  return int64_t(sizeof(Segment::Head)) + depth * (Segment::kCallBytes + slot_bytes);
}

SlotLayout layout_of(int64_t staging_bytes, int ranks) {
  // A power of two, so the slot of chunk k stays k modulo depth when a 32-bit k wraps.
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

PeerFiles open_through_proc(const World& world, const File& mine) {
  const auto addresses = world.gather(Address{.pid = getpid(), .fd = mine.fd()});
  const auto identities = world.gather(identity_of(mine));
  PeerFiles files(addresses.size());
  for (size_t r = 0; r < files.size(); ++r) {
    if (int(r) == world.rank()) continue;
    const std::string path = text("/proc/", addresses[r].pid, "/fd/", addresses[r].fd);
    File file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    // If ranks do not share a process table, the number may belong to another process.
    if (file.valid() && identity_of(file) == identities[r]) files[r] = std::move(file);
  }
  // No rank may close its file before all have opened it.
  world.all(true);
  return files;
}

// No rank waits for an accept: a connection and its message rest in the listener's backlog. Every
// rank first sends to all and then receives from all.
PeerFiles pass_through_sockets(const World& world, const File& mine) {
  const Listener listener = listen_somewhere(world.ranks());
  const auto names = world.gather(listener.name);
  const auto identities = world.gather(identity_of(mine));
  PeerFiles files(names.size());
  if (!world.all(listener.socket.valid())) return files;
  bool sent = true;
  for (int r = 0; r < world.ranks(); ++r) {
    if (r != world.rank()) sent &= send_file(names[size_t(r)], world.rank(), mine);
  }
  if (world.all(sent)) receive_files(listener.socket, identities, world.rank(), files);
  world.all(true);
  return files;
}

PeerFiles files_of_peers(const World& world, const File& mine) {
  PeerFiles files = open_through_proc(world, mine);
  if (complete(world, files)) return files;
  files = pass_through_sockets(world, mine);
  if (complete(world, files)) return files;
  refuse(Exit::kUsage, "shared memory between the ranks of this node: rank ", world.rank(), " of ",
         world.ranks(),
         " or a peer can open its peers' memory neither through /proc nor over a Unix socket - let "
         "the ranks share one container, or set ZERO_COMM=mpi");
}

}  // namespace zero::comm
