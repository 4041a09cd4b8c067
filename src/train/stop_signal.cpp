#include "zero/train/stop_signal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "zero/base/error.hpp"

namespace zero::train {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};

// A handler may touch nothing but such flags.
volatile std::sig_atomic_t received_signal = 0;
volatile std::sig_atomic_t is_announced = 0;  // a SIGTERM that counts already will follow

extern "C" void on_signal(int number) {
  const bool is_same = number == SIGTERM && is_announced != 0;
  is_announced = 0;
  if (received_signal != 0 && !is_same) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  received_signal = number;
}

/// Whoever else lets this process continue, a user or a scheduler, wants it to go on.
extern "C" void on_continue(int, siginfo_t* info, void*) {
  if (received_signal != 0 || info->si_pid != getppid()) return;
  is_announced = 1;
  received_signal = SIGTERM;
}

/// Whether every signal took it; errno says what is wrong with the one that did not.
bool install(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  return std::ranges::all_of(kSignals,
                             [&](int number) { return sigaction(number, &action, nullptr) == 0; });
}

bool install_on_continue() {
  struct sigaction action = {};
  action.sa_sigaction = on_continue;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  return sigaction(SIGCONT, &action, nullptr) == 0;
}

}  // namespace

StopSignal::StopSignal(bool parent_announces) {
  received_signal = 0;
  is_announced = 0;
  if (!install(on_signal) || (parent_announces && !install_on_continue())) {
    throw Error(Exit::kInternal, text("signals that end a run: sigaction: ", std::strerror(errno)));
  }
}

StopSignal::~StopSignal() {
  if (install(SIG_DFL) && std::signal(SIGCONT, SIG_DFL) != SIG_ERR) return;
  std::fprintf(stderr, "zeroapp: warning: signals stay caught: sigaction: %s\n",
               std::strerror(errno));
}

int StopSignal::received() { return int(received_signal); }

std::string StopSignal::name_of(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace zero::train
