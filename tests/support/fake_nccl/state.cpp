#include "tests/support/fake_nccl/state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <thread>

#include "zero/base/error.hpp"

namespace zero::fake_nccl {
namespace {

struct Name {
  const char* text;
  int64_t Faults::*member;
};
constexpr Name kNames[] = {
    {"rank", &Faults::rank},
    {"fail_call", &Faults::fail_call},
    {"fail_code", &Faults::fail_code},
    {"break_call", &Faults::break_call},
    {"break_code", &Faults::break_code},
    {"no_window", &Faults::no_window},
    {"fail_window", &Faults::fail_window},
    {"fail_memory", &Faults::fail_memory},
    {"delay_us", &Faults::delay_us},
    {"seed", &Faults::seed},
    {"lazy_bytes", &Faults::lazy_bytes},
    {"device_bytes", &Faults::device_bytes},
    {"device_status", &Faults::device_status},
    {"one_device", &Faults::one_device},
    {"strict", &Faults::strict},
    {"patience_ms", &Faults::patience_ms},
};

Faults faults_of_environment() {
  Faults faults;
  const char* const given = std::getenv("ZERO_FAKE_NCCL");
  std::istringstream words(given ? given : "");
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    bool known = false;
    for (const Name& name : kNames) {
      if (word.substr(0, equals) != name.text) continue;
      faults.*name.member = std::stoll(word.substr(equals + 1));
      known = true;
    }
    if (!known) note_violation("ZERO_FAKE_NCCL has no " + word);
  }
  return faults;
}

int rank_of_process() {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank ? std::atoi(rank) : 0;
}

thread_local bool has_chosen = false;

/// Makes the file of the log unless it is there.
void make_log() {
  const char* const log = std::getenv("ZERO_FAKE_NCCL_LOG");
  if (log == nullptr) return;
  const int file = open(log, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
}

/// Returns NCCL's words for a fault. They quote CUDA where a device is broken.
std::string words_of_fault(ncclResult_t status) {
  const auto device = cudaError_t(my_faults().device_status);
  if (status != ncclUnhandledCudaError || device == cudaSuccess) return "a fault on purpose";
  return text("Cuda failure '", cudaGetErrorString(device), "'");
}

void keep_words(const std::string& words) {
  const std::lock_guard lock(state().mutex);
  state().words = words;
}

/// A call that never ends until a peer, or this rank's own watchdog, ends the process.
[[noreturn]] void never_end(const ncclComm& comm, int64_t patience_ms) {
  for (int64_t waited = 0; waited < patience_ms && !comm.room.has_failed(); waited += 10)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  throw Stop{ncclRemoteError, "the call has hung"};
}

void take_lazy_memory(ncclComm& comm, const Faults& faults) {
  if (comm.lazy_bytes > 0 || faults.lazy_bytes == 0) return;
  const std::lock_guard lock(state().mutex);
  if (faults.device_bytes >= 0 && state().lazy_bytes + faults.lazy_bytes > faults.device_bytes)
    strike(ncclUnhandledCudaError, kOutOfMemory);
  comm.lazy_bytes = faults.lazy_bytes;
  state().lazy_bytes += faults.lazy_bytes;
}

}  // namespace

State& state() {
  static State made;
  return made;
}

Faults& faults() {
  static const bool loaded = [] {
    state().faults = faults_of_environment();
    return true;
  }();
  static_cast<void>(loaded);
  return state().faults;
}

void reset() {
  faults() = faults_of_environment();
  state().violation.clear();
  state().calls = 0;
  state().failed = false;
}

Faults my_faults() {
  const Faults all = faults();
  Room::patience_seconds = double(all.patience_ms) / 1000;
  if (all.rank < 0 || all.rank == rank_of_process()) return all;
  return {.one_device = all.one_device, .version = all.version, .strict = all.strict};
}

std::string violation() { return state().violation; }
int64_t calls() { return state().calls; }
int64_t lazy_bytes_taken() { return state().lazy_bytes; }

int64_t living() {
  int64_t count = int64_t(state().comms.size() + state().blocks.size());
  for (const auto& comm : state().comms) count += int64_t(comm->windows.size());
  return count;
}

void strike(ncclResult_t status, const std::string& words) {
  make_log();
  throw Stop{status, words};
}

void strike(ncclResult_t status) { strike(status, words_of_fault(status)); }

void note_violation(const std::string& words) {
  std::fprintf(stderr, "fake NCCL: %s\n", words.c_str());
  const std::lock_guard lock(state().mutex);
  if (state().violation.empty()) state().violation = words;
}

void choose_device() { has_chosen = true; }

void require_device() {
  if (!has_chosen) violate("a thread that has chosen no device");
}

InCall::InCall() {
  if (state().in_call.exchange(true)) violate("a second thread is in a call");
}
InCall::~InCall() { state().in_call = false; }

void meet_faults(ncclComm& comm) {
  const Faults faults = my_faults();
  const int64_t number = [] {
    const std::lock_guard lock(state().mutex);
    return ++state().calls;
  }();
  if (faults.fail_call == number) strike(ncclResult_t(faults.fail_code));
  if (faults.break_call == number) {
    make_log();
    keep_words(words_of_fault(ncclResult_t(faults.break_code)));
    comm.broken = int(faults.break_code);
    never_end(comm, faults.patience_ms);
  }
  if (faults.delay_us > 0) {
    std::mt19937_64 numbers(uint64_t(faults.seed * 1000 + comm.room.rank()) ^ uint64_t(number));
    std::this_thread::sleep_for(std::chrono::microseconds(numbers() % uint64_t(faults.delay_us)));
  }
  take_lazy_memory(comm, faults);
}

int64_t place_of(const ncclComm& comm, const void* buffer, int64_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(buffer);
  const bool strict = faults().strict != 0 && bytes > 8;
  if (strict && reinterpret_cast<uintptr_t>(begin) % 16 != 0)
    violate("a buffer begins at no multiple of 16");
  for (const auto& window : comm.windows) {
    const std::byte* const end = window->begin + window->bytes;
    if (begin + bytes <= window->begin || begin >= end) continue;
    if (begin < window->begin || begin + bytes > end) violate("a buffer leaves its window");
    return begin - window->begin;
  }
  if (strict && !comm.windows.empty()) violate("a buffer lies in no window");
  return -1;
}

std::string order_broken(const ncclComm& comm, int peer) {
  const std::lock_guard lock(state().mutex);
  for (const auto& other : state().comms) {
    if (other.get() == &comm || other->room.ranks() != comm.room.ranks()) continue;
    const uint32_t mine = other->room.begun(other->room.rank());
    for (int r = 0; r < comm.room.ranks(); ++r) {
      if (peer >= 0 && r != peer) continue;
      const bool waits_there = int32_t(other->room.begun(r) - mine) > 0;
      const bool is_here = comm.room.begun(r) == comm.room.begun(comm.room.rank());
      if (waits_there && (peer >= 0 || !is_here))
        return text("rank ", r, " waits for rank ", comm.room.rank(),
                    " in another communicator: collectives have no one order");
    }
  }
  return "";
}

}  // namespace zero::fake_nccl
