#include "zero/train/stop_signal.hpp"

#include <csignal>
#include <cstring>

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

void install(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (int number : kSignals) sigaction(number, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  received_signal = 0;
  install(on_signal);
}

StopSignal::~StopSignal() { install(SIG_DFL); }

int StopSignal::received() { return int(received_signal); }

std::string StopSignal::name_of(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace zero::train
