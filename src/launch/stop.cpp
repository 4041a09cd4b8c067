#include "zero/launch/stop.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <system_error>

#include "zero/base/error.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/launch/thread_room.hpp"

namespace zero::launch {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
constexpr int64_t kEchoNs = 200'000'000;

// A handler may touch only lock-free words, and another signal may interrupt it.
std::atomic<int64_t> first_ns{0};  // of the first SIGINT or SIGTERM, which a second one follows
std::atomic<int> first_number{0}, received_signal{0};
static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

bool only_asks(int number) { return number == SIGUSR1 || number == SIGUSR2; }

/// True if the signal may be a copy of the first. A scheduler may send it to all processes of a
/// job, and the launcher among them passes it on.
bool is_echo(int number, int64_t now) {
  const int first = first_number;
  return (first == 0 || first == number) && now - first_ns < kEchoNs;
}

/// Ends the process by the default action if a user or a scheduler insists on its end.
void count_insisting(int number) {
  const int64_t now = now_ns();
  int64_t none = 0;
  if (first_ns.compare_exchange_strong(none, now)) {
    first_number = number;
  } else if (!is_echo(number, now)) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

extern "C" void on_signal(int number) {
  const int reason = errno;
  int none = 0;
  received_signal.compare_exchange_strong(none, number);
  if (!only_asks(number)) count_insisting(number);
  errno = reason;
}

sigset_t caught_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kSignals) sigaddset(&set, number);
  return set;
}

/// Sets the handler of every signal. False if any refuses it, with the reason in errno.
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
  first_number = received_signal = 0;
  if (!install(on_signal)) {
    throw Error(Exit::kInternal, text("signals that end a run: sigaction: ", std::strerror(errno)));
  }
  const sigset_t caught = caught_signals();
  try {
    listener_ = std::thread([this, caught] {
      pthread_sigmask(SIG_UNBLOCK, &caught, nullptr);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ended_; });
    });
  } catch (const std::system_error& error) {
    install(SIG_DFL);
    refuse(Exit::kDoesNotFit,
           "the system refuses the thread that takes signals: ", error.code().message(),
           kMoreThreads);
  }
  pthread_sigmask(SIG_BLOCK, &caught, &before_);
}

StopSignal::~StopSignal() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  listener_.join();
  if (install(SIG_DFL)) return;
  warn("signals stay caught: sigaction: ", std::strerror(errno));
}

int StopSignal::received() {
  if (const int number = received_signal) return number;
  // A signal that has come may still wait for the listener.
  sigset_t pending;
  sigpending(&pending);
  const auto* const found = std::ranges::find_if(
      kSignals, [&](int number) { return sigismember(&pending, number) == 1; });
  return found == std::end(kSignals) ? 0 : *found;
}

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

namespace {

using Clock = TimeLimit::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kPatience(2000);
constexpr size_t kLineBytesMax = 256;
constexpr size_t kDigitsMax = 12;

/// Returns the number if `word` is decimal digits alone.
std::optional<int64_t> number_in(std::string_view word) {
  int64_t number = 0;
  if (word.empty() || word.size() > kDigitsMax || word[0] == '-') return {};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return {};
  return number;
}

/// Returns the last number of "23:59:58", and cuts it off with the colon before it.
std::optional<int64_t> take_last(std::string_view& words) {
  const size_t colon = words.rfind(':');
  const std::string_view word = words.substr(colon == words.npos ? 0 : colon + 1);
  words = words.substr(0, colon == words.npos ? 0 : colon);
  return number_in(word);
}

/// Returns the bytes that arrive until a line is whole or the other end is closed. "" if the time
/// is up.
std::string read_line(int descriptor, Clock::time_point deadline) {
  std::string line;
  while (line.size() < kLineBytesMax && line.find('\n') == line.npos) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    pollfd wanted{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (left.count() <= 0) return "";
    const int ready = poll(&wanted, 1, int(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return "";
    char bytes[kLineBytesMax];
    const ssize_t count = read(descriptor, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    line.append(bytes, size_t(count));
  }
  return line.substr(0, line.find('\n'));
}

/// Starts a program. Returns 0 if it cannot be started.
pid_t start(const std::vector<std::string>& command, int output) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return 0;
  // The program hears the signals that are blocked here.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  pid_t process = 0;
  const bool prepared =
      posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
      posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK) == 0 &&
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
      posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) == 0 &&
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
  if (!prepared ||
      posix_spawnp(&process, words[0], &actions, &attributes, words.data(), environ) != 0) {
    process = 0;
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return process;
}

std::optional<JobEnd> told_by_environment(const char* words, Clock::time_point now) {
  const std::optional<int64_t> end = words ? number_in(words) : std::nullopt;
  const double left = end ? double(*end) - double(std::time(nullptr)) : 0;
  if (left <= 0) return {};
  return JobEnd{.seconds = left, .asked = now, .source = "SLURM_JOB_END_TIME"};
}

}  // namespace

std::optional<int64_t> seconds_of_time_left(std::string_view words) {
  const auto trimmed = words.find_last_not_of(" \t\r\n");
  words = words.substr(0, trimmed == words.npos ? 0 : trimmed + 1);
  const size_t dash = words.find('-');
  const bool has_days = dash != words.npos;
  const auto days = has_days ? number_in(words.substr(0, dash)) : std::optional<int64_t>(0);
  if (has_days) words.remove_prefix(dash + 1);
  const auto colons = std::count(words.begin(), words.end(), ':');
  if (!days || colons > 2 || colons < (has_days ? 2 : 1)) return {};
  const auto seconds = take_last(words), minutes = take_last(words);
  const auto hours = colons == 2 ? take_last(words) : std::optional<int64_t>(0);
  if (!seconds || !minutes || !hours || *seconds >= 60) return {};
  return ((*days * 24 + *hours) * 60 + *minutes) * 60 + *seconds;
}

std::string first_line_of(const std::vector<std::string>& command, milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const OpenFile reading(ends[0]);
  OpenFile writing(ends[1]);
  const pid_t process = start(command, writing.descriptor());
  writing = OpenFile();
  if (process == 0) return "";
  const std::string line = read_line(reading.descriptor(), deadline);
  kill(process, SIGKILL);
  while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
  return line;
}

std::optional<JobEnd> job_end(const std::function<const char*(const char*)>& variable) {
  const Clock::time_point now = Clock::now();
  if (auto told = told_by_environment(variable("SLURM_JOB_END_TIME"), now)) return told;
  const char* job = variable("SLURM_JOB_ID");
  if (!job || !number_in(job)) return {};
  const std::string line = first_line_of({"squeue", "-h", "-j", job, "-O", "TimeLeft"}, kPatience);
  const std::optional<int64_t> left = seconds_of_time_left(line);
  if (!left) return {};
  // A limit of 0 would mean none.
  return JobEnd{.seconds = std::max(1.0, double(*left)), .asked = now, .source = "squeue"};
}

}  // namespace zero::launch
