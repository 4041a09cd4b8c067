#include "zero/launch/thread_room.hpp"

#include <malloc.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/process_limits.hpp"
#include "zero/base/text.hpp"
#include "zero/device/device.hpp"

namespace zero::launch {
namespace {

/// Threads beside the two teams of computing lanes: other lanes, MPI's, the watchdog and savers.
constexpr int64_t kOthers = 8;

std::optional<int64_t> number_in(std::string_view word) {
  while (word.starts_with(' ')) word.remove_prefix(1);
  word = word.substr(0, word.find_last_not_of(' ') + 1);
  int64_t number = 0;
  const char* last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number);
  if (error != std::errc() || end != last || word.empty()) return {};
  return number;
}

/// Returns the stack bytes of OpenMP's threads by its variables. Skips, as OpenMP does, a value
/// that is no number with a unit of B, K, M or G. 0: the system's default.
size_t stack_bytes() {
  for (const char* name : {"OMP_STACKSIZE", "GOMP_STACKSIZE"}) {
    const char* value = std::getenv(name);
    const std::string_view word = value ? value : "";
    const size_t end = word.find_last_not_of(" BbKkMmGg") + 1;
    const std::optional<int64_t> number = number_in(word.substr(0, end));
    if (!number || *number < 0) continue;
    const size_t unit = word.find_first_of("BbKkMmGg", end);
    const char letter = unit == word.npos ? 'K' : char(std::toupper(word[unit]));
    const int shift = 10 * int(std::string_view("BKMG").find(letter));
    if (*number <= INT64_MAX >> shift) return size_t(*number) << shift;
  }
  return 0;
}

void* wait(void* ended) {
  static_cast<std::atomic<bool>*>(ended)->wait(false);
  return nullptr;
}

[[noreturn]] void refuse_variable(const char* name, const char* value, const std::string& advice) {
  refuse(Exit::kUsage, "environment: ", name, "=", value, ": ", advice);
}

void require_number(const Variable& variable, const char* name, int64_t least) {
  const char* value = variable(name);
  if (!value) return;
  const std::optional<int64_t> number = number_in(value);
  if (number && *number >= least && *number <= INT32_MAX) return;
  refuse_variable(name, value, text("is no number from ", least, "; unset it"));
}

void require_flag(const Variable& variable, const char* name) {
  const char* value = variable(name);
  if (!value) return;
  std::string word = value;
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char letter) { return char(std::tolower(letter)); });
  for (const char* known : {"true", "false", "yes", "no", "1", "0"}) {
    if (word == known) return;
  }
  refuse_variable(name, value, "is neither true nor false; unset it");
}

void require_addresses_of_mpi() {
  constexpr int64_t kBytes = int64_t(64) << 20;  // Open MPI maps about 40 MiB as it starts
  if (would_map(kBytes)) return;
  refuse(Exit::kDoesNotFit,
         "the system refuses the addresses that MPI takes as it starts: ", std::strerror(errno),
         " - raise the limit of address space (ulimit -v)");
}

}  // namespace

int64_t threads_asked(const Variable& variable) {
  constexpr const char* kName = "OMP_NUM_THREADS";
  const char* value = variable(kName);
  if (!value) return 0;
  const std::string_view list = value;
  const std::optional<int64_t> number = number_in(list.substr(0, list.find(',')));
  if (number && *number >= 1 && *number <= kMostThreads) return *number;
  refuse_variable(kName, value,
                  text("a rank takes 1 to ", kMostThreads,
                       " threads; write that, or run.threads in the input file, or unset it"));
}

void require_kokkos_variables(const Variable& variable, int64_t threads) {
  for (const char* name :
       {"KOKKOS_DISABLE_WARNINGS", "KOKKOS_PRINT_CONFIGURATION", "KOKKOS_TUNE_INTERNALS"}) {
    require_flag(variable, name);
  }
  require_number(variable, "KOKKOS_DEVICE_ID", 0);
  constexpr const char* kMap = "KOKKOS_MAP_DEVICE_ID_BY";
  const char* map = variable(kMap);
  const std::string_view way = map ? map : "mpi_rank";
  if (way != "mpi_rank" && way != "random") {
    refuse_variable(kMap, map, "is neither mpi_rank nor random; unset it");
  }
  constexpr const char* kThreads = "KOKKOS_NUM_THREADS";
  require_number(variable, kThreads, 1);
  const char* value = variable(kThreads);
  if (!value || number_in(value) == threads) return;
  refuse_variable(kThreads, value,
                  text("a rank here has ", counted(threads, "thread"),
                       ", as run.threads, OMP_NUM_THREADS or the cores say; write one of the two "
                       "former, and unset it"));
}

void require_stack() {
  // Trainings took 64 KiB to 128 KiB, including the variables of the environment.
  constexpr int64_t kLeast = int64_t(256) << 10;
  const int64_t limit = process_limit(RLIMIT_STACK);
  if (limit < 0 || limit >= kLeast) return;
  refuse(Exit::kDoesNotFit, "a stack of ", limit >> 10, " KiB (ulimit -s) is too small; write ",
         "ulimit -s ", kLeast >> 10, " or more");
}

void spare_addresses() {
  const bool limited = process_limit(RLIMIT_AS) >= 0;
  if (limited && std::getenv("MALLOC_ARENA_MAX") == nullptr) mallopt(M_ARENA_MAX, 1);
}

void require_threads_of_mpi() {
  constexpr size_t kThreads = 3;  // two threads of MPI and the watchdog
  std::atomic<bool> ended{false};
  std::vector<std::thread> threads;
  std::string refusal;
  try {
    while (threads.size() < kThreads) threads.emplace_back([&ended] { ended.wait(false); });
  } catch (const std::system_error& error) {
    refusal = error.code().message();
  }
  ended.store(true);
  ended.notify_all();
  for (std::thread& thread : threads) thread.join();
  if (refusal.empty()) return require_addresses_of_mpi();
  refuse(Exit::kDoesNotFit, "the system refuses the threads that MPI starts: ", refusal,
         kMoreThreads);
}

ThreadTrial::ThreadTrial(int64_t threads) {
  const size_t of_teams = 2 * size_t(threads - 1), all = 2 * size_t(threads) + kOthers;
  threads_.reserve(all);
  pthread_attr_t stacks;
  pthread_attr_init(&stacks);
  // OpenMP ignores a size that the system refuses.
  if (const size_t bytes = stack_bytes()) pthread_attr_setstacksize(&stacks, bytes);
  int reason = 0;
  while (reason == 0 && threads_.size() < all) {
    pthread_t thread{};
    reason = pthread_create(&thread, threads_.size() < of_teams ? &stacks : nullptr, wait, &ended_);
    if (reason == 0) threads_.push_back(thread);
  }
  pthread_attr_destroy(&stacks);
  if (reason == 0) return;
  const size_t made = threads_.size();
  end();
  refuse(Exit::kDoesNotFit, "the system refuses thread ", made + 1, " of ", all,
         ", which a rank of ", counted(threads, "thread"),
         " takes with its helpers: ", std::strerror(reason),
         " - raise this user's processes (ulimit -u), the address space (ulimit -v, with ",
         "OMP_STACKSIZE or ulimit -s for each) or the cgroup's pids.max, or write a smaller ",
         "run.threads");
}

ThreadTrial::~ThreadTrial() { end(); }

void ThreadTrial::end() {
  ended_.store(true);
  ended_.notify_all();
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  threads_.clear();
}

}  // namespace zero::launch
