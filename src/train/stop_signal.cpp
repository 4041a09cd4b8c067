#include "zero/train/stop_signal.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "zero/base/error.hpp"

namespace zero::train {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};

// A handler may touch nothing but such a flag.
volatile std::sig_atomic_t received_signal = 0;

extern "C" void on_signal(int number) {
  if (received_signal != 0) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  received_signal = number;
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
  received_signal = 0;
  if (!install(on_signal)) {
    throw Error(Exit::kInternal, text("signals that end a run: sigaction: ", std::strerror(errno)));
  }
}

StopSignal::~StopSignal() {
  if (install(SIG_DFL)) return;
  std::fprintf(stderr, "zeroapp: warning: signals stay caught: sigaction: %s\n",
               std::strerror(errno));
}

int StopSignal::received() { return int(received_signal); }

std::string StopSignal::name_of(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace zero::train
