#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/fake_nccl/fake_nccl.hpp"
#include "tests/support/fake_nccl/room.hpp"

struct ncclFakeWindow {
  ncclFakeWindow(const std::byte* first, int64_t size) : begin(first), bytes(size) {}
  const std::byte* begin;
  int64_t bytes;
};

struct ncclComm {
  ncclComm(const ncclUniqueId& id, int rank, int ranks) : room(id, rank, ranks) {}

  zero::fake_nccl::Room room;
  std::vector<std::unique_ptr<ncclFakeWindow>> windows = {};
  std::atomic<int> broken{0};  ///< the asynchronous error
  bool finalized = false, failed = false;
  int64_t lazy_bytes = 0;  ///< that it has taken
};

namespace zero::fake_nccl {

/// What this process has of NCCL.
struct State {
  std::mutex mutex;  ///< of all but `in_call`
  Faults faults = {};
  std::vector<std::unique_ptr<ncclComm>> comms = {};
  std::map<const std::byte*, int64_t> blocks = {};
  std::string violation = "", words = "";
  int64_t calls = 0, lazy_bytes = 0;
  bool failed = false;  ///< some call has returned an error
  std::atomic<bool> in_call{false};
};
State& state();

/// The faults that this rank has; none where they are another's.
Faults my_faults();

/// NCCL's words where CUDA has no memory for it.
inline constexpr const char* kOutOfMemory = "Cuda failure 2 'out of memory'";

/// Throws that a fault on purpose has struck, whose moment the file of the log keeps.
[[noreturn]] void strike(ncclResult_t status, const std::string& words);
/// Throws likewise, in CUDA's quoted words where a device is broken.
[[noreturn]] void strike(ncclResult_t status);

/// Keeps and prints a violation.
void note_violation(const std::string& words);

/// Throws Stop where the calling thread has chosen no device.
void require_device();

/// One thread of the process in a call; throws Stop where there is another one.
class InCall {
 public:
  InCall();
  ~InCall();
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;
};

/// Counts a collective's call and lets it fail, break or be late. Throws Stop.
void meet_faults(ncclComm& comm);

/// What lies in which window of the communicator; -1: in none. Throws Stop where a buffer breaks a
/// rule.
int64_t place_of(const ncclComm& comm, const void* buffer, int64_t bytes);

/// The reason why `peer` of the communicator, or any with -1, waits for this rank elsewhere.
std::string order_broken(const ncclComm& comm, int peer);

/// What a call returns: the status of a Stop that `work` throws, which all ranks then see.
template <class Work>
ncclResult_t call(ncclComm* comm, const Work& work) {
  try {
    work();
    return ncclSuccess;
  } catch (const Stop& stop) {
    if (stop.is_violation) note_violation(stop.words);
    const std::lock_guard lock(state().mutex);
    for (const auto& one : state().comms) {
      if (one.get() != comm && !stop.is_violation) continue;
      one->failed = true;
      one->room.fail();
    }
    state().failed = true;
    state().words = stop.words;
    return stop.status;
  }
}

}  // namespace zero::fake_nccl
