#include "zero/launch/stop.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "zero/base/error.hpp"

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

namespace {

constexpr std::chrono::milliseconds kPause(500);

}  // namespace

std::string name_of(UserRequest request) {
  constexpr const char* kNames[] = {"", "checkpoint_now", "stop_now"};
  return kNames[size_t(request)];
}

UserRequests::UserRequests(const std::string& folder) {
  for (const UserRequest request : {UserRequest::save, UserRequest::stop}) {
    paths_[size_t(request)] = folder + "/" + name_of(request);
  }
}

bool UserRequests::remove(UserRequest request) const {
  return unlink(paths_[size_t(request)].c_str()) == 0;
}

UserRequest UserRequests::take(Clock::time_point now) {
  if (paths_.back().empty() || now - looked_ < kPause) return UserRequest::none;
  looked_ = now;
  const bool saves = remove(UserRequest::save);
  if (remove(UserRequest::stop)) return UserRequest::stop;
  return saves ? UserRequest::save : UserRequest::none;
}

std::vector<std::string> UserRequests::forget() const {
  std::vector<std::string> gone;
  for (const UserRequest request : {UserRequest::save, UserRequest::stop}) {
    if (remove(request)) gone.push_back(name_of(request));
  }
  return gone;
}

TimeLimit::TimeLimit(double seconds, Clock::time_point start) : seconds_(seconds), start_(start) {}

bool TimeLimit::is_last_step(Clock::time_point now) {
  if (begun_ != Clock::time_point{}) longest_ = std::max(longest_, now - begun_);
  begun_ = now;
  const std::chrono::duration<double> needed = now - start_ + 3 * longest_;
  return seconds_ > 0 && needed.count() >= seconds_;
}

}  // namespace zero::launch
