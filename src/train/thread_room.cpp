#include "zero/train/thread_room.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "zero/base/counted.hpp"
#include "zero/base/error.hpp"

namespace zero::train {
namespace {

/// Beside two teams, of the lanes that compute: the other lanes, MPI's, the watchdog and savers.
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

ThreadTrial::ThreadTrial(int64_t threads) {
  const int64_t all = 2 * threads + kOthers;
  try {
    threads_.reserve(size_t(all));
    while (int64_t(threads_.size()) < all) {
      threads_.emplace_back([this] { ended_.wait(false); });
    }
  } catch (const std::system_error& error) {
    const size_t made = threads_.size();
    end();
    refuse(Exit::kDoesNotFit, "the system refuses thread ", made + 1, " of ", all,
           ", which a rank of ", counted(threads, "thread"),
           " takes with its helpers: ", error.code().message(),
           " - raise this user's processes (ulimit -u), the address space (ulimit -v, with ",
           "OMP_STACKSIZE or ulimit -s for each) or the cgroup's pids.max, or write a smaller ",
           "run.threads");
  }
}

ThreadTrial::~ThreadTrial() { end(); }

void ThreadTrial::end() {
  ended_.store(true);
  ended_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace zero::train
