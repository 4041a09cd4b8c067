#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>

#include "zero/io/files/files.hpp"
#include "zero/launch/stop.hpp"

namespace zero::launch {
namespace {

using Clock = TimeLimit::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kPatience(2000);
constexpr size_t kLineBytesMax = 256;
constexpr size_t kDigitsMax = 12;

/// A whole number of decimal digits alone.
std::optional<int64_t> number_in(std::string_view word) {
  int64_t number = 0;
  if (word.empty() || word.size() > kDigitsMax || word[0] == '-') return {};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return {};
  return number;
}

/// The last number of "23:59:58", which is cut off with the colon before it.
std::optional<int64_t> take_last(std::string_view& words) {
  const size_t colon = words.rfind(':');
  const std::string_view word = words.substr(colon == words.npos ? 0 : colon + 1);
  words = words.substr(0, colon == words.npos ? 0 : colon);
  return number_in(word);
}

/// What arrives until a line is whole, the other end is closed or time is up.
std::string read_line(int descriptor, Clock::time_point deadline) {
  std::string line;
  while (line.size() < kLineBytesMax && line.find('\n') == line.npos) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    pollfd wanted{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&wanted, 1, int(left.count())) <= 0) return "";
    char bytes[kLineBytesMax];
    const ssize_t count = read(descriptor, bytes, sizeof bytes);
    if (count <= 0) break;
    line.append(bytes, size_t(count));
  }
  return line.substr(0, line.find('\n'));
}

/// 0 where it cannot be started.
pid_t start(const std::vector<std::string>& command, int output) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return 0;
  pid_t process = 0;
  const bool prepared =
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
      posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) == 0 &&
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
  if (!prepared ||
      posix_spawnp(&process, words[0], &actions, nullptr, words.data(), environ) != 0) {
    process = 0;
  }
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
  // A limit of 0 would be none.
  return JobEnd{.seconds = std::max(1.0, double(*left)), .asked = now, .source = "squeue"};
}

}  // namespace zero::launch
