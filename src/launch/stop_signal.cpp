#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "zero/base/error.hpp"
#include "zero/launch/stop.hpp"

namespace zero::launch {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};
constexpr int64_t kEchoNs = 200'000'000;

// A handler may touch nothing but such words. Two threads may be in one at the same time.
std::atomic<int64_t> first_ns{0};
std::atomic<int> received_signal{0};
static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// A scheduler may send it to all processes of a job, and the launcher among them passes it on.
bool is_echo(int number, int64_t now) {
  const int first = received_signal;
  return (first == 0 || first == number) && now - first_ns < kEchoNs;
}

extern "C" void on_signal(int number) {
  const int reason = errno;
  const int64_t now = now_ns();
  int64_t none = 0;
  if (first_ns.compare_exchange_strong(none, now)) {
    received_signal = number;
  } else if (!is_echo(number, now)) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  errno = reason;
}

/// Whether every signal took it; errno says what is wrong with the one that did not.
bool install(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  return std::ranges::all_of(kSignals,
                             [&](int number) { return sigaction(number, &action, nullptr) == 0; });
}

}  // namespace

StopSignal::StopSignal() {
  first_ns = 0;
  received_signal = 0;
  if (!install(on_signal)) {
    throw Error(Exit::kInternal, text("signals that end a run: sigaction: ", std::strerror(errno)));
  }
}

StopSignal::~StopSignal() {
  if (install(SIG_DFL)) return;
  warn("signals stay caught: sigaction: ", std::strerror(errno));
}

int StopSignal::received() { return received_signal; }

std::string StopSignal::name_of(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace zero::launch
