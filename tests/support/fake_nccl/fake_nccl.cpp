#include "tests/support/fake_nccl/fake_nccl.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "tests/support/fake_nccl/nccl.h"
#include "tests/support/fake_nccl/state.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"

using zero::fake_nccl::call;
using zero::fake_nccl::InCall;
using zero::fake_nccl::my_faults;
using zero::fake_nccl::Note;
using zero::fake_nccl::place_of;
using zero::fake_nccl::require_device;
using zero::fake_nccl::Room;
using zero::fake_nccl::state;
using zero::fake_nccl::strike;
using zero::fake_nccl::violate;

namespace {

enum class Verb { send, receive, gather, broadcast, reduce };

struct Op {
  Verb verb;
  ncclComm* comm;
  const std::byte* from;
  std::byte* to;
  int64_t bytes;
  int peer;  ///< or the root
  cudaStream_t stream;
};

thread_local int depth = 0;
thread_local std::vector<Op> grouped;
thread_local ncclResult_t group_status = ncclSuccess;

bool is_letter(const Op& op) { return op.verb == Verb::send || op.verb == Verb::receive; }

Note note_of(const char* verb, int64_t bytes, int root = 0, int64_t place = 0) {
  Note note{.verb = "", .bytes = bytes, .root = root, .place = place};
  std::strncpy(note.verb, verb, sizeof note.verb - 1);
  return note;
}

/// Every rank's part, one behind the other.
void gather(const Op& op) {
  Room& room = op.comm->room;
  const std::byte* const end = op.to + room.ranks() * op.bytes;
  const bool overlaps = op.from < end && op.from + op.bytes > op.to;
  if (overlaps && op.from != op.to + room.rank() * op.bytes)
    violate("an all_gather's part lies in another's place");
  room.collective(note_of("all_gather", op.bytes, 0, place_of(*op.comm, op.to, op.bytes)),
                  {op.from, size_t(op.bytes)}, [&] {
                    for (int r = 0; r < room.ranks(); ++r)
                      std::memcpy(op.to + r * op.bytes, room.area(r), size_t(op.bytes));
                  });
}

void broadcast(const Op& op) {
  Room& room = op.comm->room;
  if (op.peer < 0 || op.peer >= room.ranks()) violate("a broadcast from no rank");
  const bool is_root = op.peer == room.rank();
  room.collective(note_of("broadcast", op.bytes, op.peer, place_of(*op.comm, op.to, op.bytes)),
                  {op.from, is_root ? size_t(op.bytes) : 0},
                  [&] { std::memcpy(op.to, room.area(op.peer), size_t(op.bytes)); });
}

void reduce(const Op& op) {
  Room& room = op.comm->room;
  room.collective(note_of("all_reduce", op.bytes, 0, place_of(*op.comm, op.to, op.bytes)),
                  {op.from, size_t(op.bytes)}, [&] {
                    for (int64_t i = 0; i < op.bytes / 8; ++i) {
                      uint64_t sum = 0;
                      for (int r = 0; r < room.ranks(); ++r)
                        sum += reinterpret_cast<const uint64_t*>(room.area(r))[i];
                      std::memcpy(op.to + 8 * i, &sum, sizeof sum);
                    }
                  });
}

void exchange(std::span<const Op> ops) {
  std::vector<Room::Letter> sent, received;
  const Room& room = ops.front().comm->room;
  for (const Op& op : ops) {
    if (op.peer < 0 || op.peer >= room.ranks() || op.peer == room.rank())
      violate("a letter to no other rank");
    auto& letters = op.verb == Verb::send ? sent : received;
    if (std::ranges::count(letters, op.peer, &Room::Letter::peer) > 0)
      violate("two letters between two ranks in one group");
    // What is sent is only read.
    std::byte* const place = op.verb == Verb::send ? const_cast<std::byte*>(op.from) : op.to;
    letters.push_back({op.peer, place, op.bytes});
  }
  ops.front().comm->room.exchange(sent, received);
}

void run(std::span<const Op> ops) {
  if (ops.empty()) return;
  const InCall in_call;
  for (const Op& op : ops) {
    if (op.comm != ops.front().comm) violate("a group of two communicators");
    reinterpret_cast<zero::Stream*>(op.stream)->wait();
  }
  if (std::ranges::all_of(ops, is_letter)) return exchange(ops);
  for (const Op& op : ops) {
    if (is_letter(op)) violate("a group of letters and others");
    // NCCL 2.28.9 takes them, and its kernel may read address 0.
    if (op.verb == Verb::broadcast && ops.size() > 1) violate("broadcasts in a group");
    if (op.verb == Verb::gather) gather(op);
    if (op.verb == Verb::broadcast) broadcast(op);
    if (op.verb == Verb::reduce) reduce(op);
  }
}

ncclResult_t queue(const Op& op) {
  const ncclResult_t status = call(op.comm, [&] {
    if (op.comm->finalized) violate("a call behind the end of its communicator");
    if (op.bytes <= 0) violate("a call for no bytes");
    // Where others write, all ranks' parts count.
    const int64_t parts = op.verb == Verb::gather ? op.comm->room.ranks() : 1;
    if (op.to) place_of(*op.comm, op.to, parts * op.bytes);
    if (op.from) place_of(*op.comm, op.from, op.bytes);
    zero::fake_nccl::meet_faults(*op.comm);
    if (depth == 0) run({&op, 1});
  });
  if (depth > 0 && status != ncclSuccess) group_status = status;
  if (depth > 0) grouped.push_back(op);
  return status;
}

int64_t bytes_of(size_t count, ncclDataType_t dtype) {
  return int64_t(count) * (dtype == ncclInt64 ? 8 : 1);
}

ncclResult_t add(ncclComm_t* made, const ncclUniqueId& id, int rank, int ranks) {
  *made = nullptr;
  return call(nullptr, [&] {
    require_device();
    auto fresh = std::make_unique<ncclComm>(id, rank, ranks);
    fresh->room.on_wait = [comm = fresh.get()](int peer) {
      return zero::fake_nccl::order_broken(*comm, peer);
    };
    *made = fresh.get();
    const std::lock_guard lock(state().mutex);
    state().comms.push_back(std::move(fresh));
  });
}

void remove(ncclComm* comm) {
  const std::lock_guard lock(state().mutex);
  state().lazy_bytes -= comm->lazy_bytes;
  std::erase_if(state().comms, [&](const auto& one) { return one.get() == comm; });
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = int(my_faults().version);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t status) {
  static constexpr const char* kTexts[] = {
      "no error",         "unhandled cuda error", "unhandled system error", "internal error",
      "invalid argument", "invalid usage",        "remote process exited",  "in progress"};
  return kTexts[status];
}

const char* ncclGetLastError(ncclComm_t) { return state().words.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return call(nullptr, [&] {
    if (const int64_t status = my_faults().fail_name) strike(ncclResult_t(status));
    *id = Room::make();
  });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->splitShare != 1) zero::fake_nccl::note_violation("nothing is to be shared");
  my_faults();  // sets the patience
  return add(comm, id, rank, ranks);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t*) {
  ncclUniqueId id{};
  const ncclResult_t status = call(comm, [&] {
    Room& room = comm->room;
    if (color != 0 || key != room.rank()) violate("a split with another order of ranks");
    if (room.rank() == 0) id = Room::make();
    room.collective(note_of("split", 0), std::as_bytes(std::span(&id, 1)),
                    [&] { std::memcpy(&id, room.area(0), sizeof id); });
  });
  return status == ncclSuccess ? add(made, id, comm->room.rank(), comm->room.ranks()) : status;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return call(comm, [&] {
    require_device();
    if (!comm->windows.empty()) violate("a communicator ends before its windows");
    if (comm->finalized) violate("a communicator ends twice");
    if (comm->failed) violate("an end that is waited for behind a failure");
    comm->finalized = true;
    comm->room.collective(note_of("finalize", 0), {}, [] {});
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm->finalized) zero::fake_nccl::note_violation("an end that peers may not have come to");
  remove(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const bool failed = [&] {
    const std::lock_guard lock(state().mutex);
    return state().failed || comm->broken != 0 || std::uncaught_exceptions() > 0;
  }();
  if (!failed) zero::fake_nccl::note_violation("an abort without a failure");
  call(nullptr, [] { require_device(); });
  comm->room.fail();
  remove(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* status) {
  *status = ncclResult_t(comm->broken.load());
  return ncclSuccess;
}

ncclResult_t ncclMemAlloc(void** block, size_t bytes) {
  return call(nullptr, [&] {
    require_device();
    const int64_t fault = my_faults().fail_memory;
    if (fault == 1) strike(ncclUnhandledCudaError, zero::fake_nccl::kOutOfMemory);
    if (fault == 2) strike(ncclUnhandledCudaError);
    *block = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    std::memset(*block, 0xa5, bytes);  // nothing that was asked for
    const std::lock_guard lock(state().mutex);
    state().blocks[static_cast<std::byte*>(*block)] = int64_t(bytes);
  });
}

ncclResult_t ncclMemFree(void* block) {
  return call(nullptr, [&] {
    require_device();
    const auto* const begin = static_cast<std::byte*>(block);
    const std::lock_guard lock(state().mutex);
    for (const auto& comm : state().comms) {
      for (const auto& window : comm->windows) {
        if (window->begin == begin) violate("memory ends before its window");
      }
    }
    if (state().blocks.erase(begin) != 1) violate("memory ends twice");
    std::free(block);
  });
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* block, size_t bytes,
                                    ncclWindow_t* window, int flags) {
  *window = nullptr;
  return call(comm, [&] {
    require_device();
    const zero::fake_nccl::Faults faults = my_faults();
    if (faults.fail_window != 0) strike(ncclResult_t(faults.fail_window));
    if (flags != NCCL_WIN_COLL_SYMMETRIC) violate("a window of another kind");
    comm->room.collective(note_of("window", int64_t(bytes)), {}, [] {});
    const auto* const begin = static_cast<std::byte*>(block);
    const std::lock_guard lock(state().mutex);
    const auto found = state().blocks.find(begin);
    const bool is_ours = found != state().blocks.end() && found->second == int64_t(bytes);
    if (faults.no_window != 0 || !is_ours) return;
    comm->windows.push_back(std::make_unique<ncclFakeWindow>(begin, int64_t(bytes)));
    *window = comm->windows.back().get();
  });
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  return call(nullptr, [&] {
    require_device();
    const std::lock_guard lock(state().mutex);
    const auto is = [](const auto* wanted) {
      return [=](const auto& one) { return one.get() == wanted; };
    };
    if (std::ranges::none_of(state().comms, is(comm)) ||
        std::erase_if(comm->windows, is(window)) != 1)
      violate("a window ends behind its communicator");
  });
}

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (--depth > 0) return ncclSuccess;
  const std::vector<Op> ops = std::exchange(grouped, {});
  const ncclResult_t failed = std::exchange(group_status, ncclSuccess);
  if (failed != ncclSuccess || ops.empty()) return failed;
  return call(ops.front().comm, [&] { run(ops); });
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t dtype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return queue({Verb::send, comm, static_cast<const std::byte*>(from), nullptr,
                bytes_of(count, dtype), peer, stream});
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t dtype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return queue({Verb::receive, comm, nullptr, static_cast<std::byte*>(to), bytes_of(count, dtype),
                peer, stream});
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t dtype,
                           ncclComm_t comm, cudaStream_t stream) {
  return queue({Verb::gather, comm, static_cast<const std::byte*>(from),
                static_cast<std::byte*>(to), bytes_of(count, dtype), 0, stream});
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t dtype, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return queue({Verb::broadcast, comm, static_cast<const std::byte*>(from),
                static_cast<std::byte*>(to), bytes_of(count, dtype), root, stream});
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t dtype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  if (dtype != ncclInt64 || op != ncclSum)
    zero::fake_nccl::note_violation("sums are of integers alone");
  return queue({Verb::reduce, comm, static_cast<const std::byte*>(from),
                static_cast<std::byte*>(to), bytes_of(count, dtype), 0, stream});
}
