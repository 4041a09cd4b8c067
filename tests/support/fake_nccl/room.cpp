#include "tests/support/fake_nccl/room.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "zero/base/error.hpp"

namespace zero::fake_nccl {
namespace {

using Clock = std::chrono::steady_clock;

struct Name {
  pid_t process;
  int file;
};

}  // namespace

double Room::patience_seconds = 60;

struct Room::Line {
  std::atomic<uint32_t> begun;
  Note note;
};

/// From one rank to another.
struct Room::Mail {
  comm::Counter sent, taken;
  int64_t offset, bytes;
};

struct Room::Head {
  comm::Counter arrived, left;
  std::atomic<bool> failed;
  Line lines[kMostRanks];
  Mail mails[kMostRanks][kMostRanks];
};

namespace {

/// Areas begin behind the head; their pages are there once they are touched.
constexpr int64_t kFirstArea = int64_t(16) << 20;
constexpr int64_t kRoomBytes = kFirstArea + Room::kMostRanks * Room::kAreaBytes;

}  // namespace

ncclUniqueId Room::make() {
  static_assert(sizeof(Head) <= size_t(kFirstArea));
  const Name name{getpid(), memfd_create("fake_nccl", MFD_CLOEXEC)};
  if (name.file < 0 || ftruncate(name.file, kRoomBytes) != 0)
    throw Stop{ncclSystemError, "no shared memory"};
  ncclUniqueId id{};
  std::memcpy(id.internal, &name, sizeof name);
  return id;
}

Room::Room(const ncclUniqueId& id, int rank, int ranks)
    : rank_(rank), ranks_(ranks), sent_(size_t(ranks)), received_(size_t(ranks)) {
  if (ranks > kMostRanks) throw Stop{ncclInvalidArgument, "too many ranks"};
  Name name{};
  std::memcpy(&name, id.internal, sizeof name);
  const std::string path = text("/proc/", name.process, "/fd/", name.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) throw Stop{ncclSystemError, path + " cannot be opened"};
  void* const mapped = mmap(nullptr, size_t(kRoomBytes), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) throw Stop{ncclSystemError, path + " cannot be mapped"};
  base_ = static_cast<std::byte*>(mapped);
  // Rank 0 keeps the file open until all have it.
  ++meetings_;
  meet(head().arrived, 1);
  meet(head().left, 1);
  if (name.process == getpid() && rank == 0) close(name.file);
}

Room::~Room() { munmap(base_, size_t(kRoomBytes)); }

Room::Line& Room::line(int rank) const { return head().lines[rank]; }
Room::Mail& Room::mail(int from, int to) const { return head().mails[from][to]; }
std::byte* Room::area(int rank) const { return base_ + kFirstArea + rank * kAreaBytes; }

void Room::fail() { head().failed = true; }
bool Room::has_failed() const { return head().failed; }
uint32_t Room::begun(int rank) const { return line(rank).begun; }

void Room::wait(comm::Counter& counter, uint32_t least, int peer) {
  struct Watch {
    const Room* room;
    const comm::Counter* counter;
    uint32_t least;
    int peer;
    Clock::time_point since;
  } watch{this, &counter, least, peer, Clock::now()};
  const auto look = [](void* given) {
    const Watch& of = *static_cast<Watch*>(given);
    if (of.room->has_failed()) throw Stop{ncclRemoteError, "a peer has failed"};
    const std::string never = of.room->on_wait ? of.room->on_wait(of.peer) : "";
    // The peer may have come before it went where it waits now.
    if (!never.empty() && !comm::has_reached(*of.counter, of.least)) violate(never);
    const std::chrono::duration<double> waited = Clock::now() - of.since;
    if (waited.count() > patience_seconds)
      throw Stop{ncclRemoteError, text("rank ", of.room->rank(), " waited in vain")};
  };
  comm::wait_for(counter, least, {.hook = look, .context = &watch});
}

void Room::meet(comm::Counter& counter, uint32_t times) {
  const uint32_t all = times * uint32_t(ranks_);
  comm::add_one(counter, all);
  wait(counter, all, -1);
}

void Room::compare(const Note& note) const {
  for (int r = 0; r < ranks_; ++r) {
    const Note& other = line(r).note;
    const bool same = std::strcmp(other.verb, note.verb) == 0 && other.bytes == note.bytes &&
                      other.root == note.root && other.place == note.place;
    if (same) continue;
    violate(text("rank ", rank_, " calls ", note.verb, " of ", note.bytes, " bytes, root ",
                 note.root, ", place ", note.place, ", but rank ", r, " calls ", other.verb, " of ",
                 other.bytes, ", root ", other.root, ", place ", other.place));
  }
}

void Room::write(int64_t offset, std::span<const std::byte> bytes) {
  if (offset + int64_t(bytes.size()) > kAreaBytes)
    throw Stop{ncclInvalidArgument, "more than an area holds"};
  if (!bytes.empty()) std::memcpy(area(rank_) + offset, bytes.data(), bytes.size());
}

void Room::collective(const Note& note, std::span<const std::byte> mine,
                      const std::function<void()>& read) {
  line(rank_).note = note;
  ++line(rank_).begun;
  write(0, mine);
  ++meetings_;
  meet(head().arrived, meetings_);
  compare(note);
  read();
  meet(head().left, meetings_);
}

void Room::exchange(std::span<const Letter> sent, std::span<const Letter> received) {
  int64_t offset = 0;
  for (const Letter& letter : sent) {
    write(offset, {letter.place, size_t(letter.bytes)});
    Mail& box = mail(rank_, letter.peer);
    box.offset = offset;
    box.bytes = letter.bytes;
    comm::raise(box.sent, ++sent_[size_t(letter.peer)]);
    offset += letter.bytes;
  }
  for (const Letter& letter : received) {
    Mail& box = mail(letter.peer, rank_);
    const uint32_t number = ++received_[size_t(letter.peer)];
    wait(box.sent, number, letter.peer);
    if (box.bytes != letter.bytes) {
      violate(text("rank ", letter.peer, " sends ", box.bytes, " bytes, rank ", rank_, " receives ",
                   letter.bytes));
    }
    std::memcpy(letter.place, area(letter.peer) + box.offset, size_t(letter.bytes));
    comm::raise(box.taken, number);
  }
  for (const Letter& letter : sent)
    wait(mail(rank_, letter.peer).taken, sent_[size_t(letter.peer)], letter.peer);
}

}  // namespace zero::fake_nccl
