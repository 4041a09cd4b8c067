#include "src/launch/stuck_launcher.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::launch {
namespace {

/// Milliseconds for the end of this process, of a launcher that can reach all nodes, and of one
/// whose connections are closed.
constexpr int kOwnEnd = 10000, kGoodEnd = 3000, kForcedEnd = 3000;
constexpr std::chrono::milliseconds kPause(10), kMostTime(1000);
constexpr const char* kLaunchers[] = {"mpirun", "mpiexec", "orterun", "orted"};

OpenFile open_process(pid_t process) { return OpenFile(int(syscall(SYS_pidfd_open, process, 0))); }

bool is_launcher(pid_t process) {
  std::ifstream file(text("/proc/", process, "/comm"));
  std::string name;
  std::getline(file, name);
  return std::ranges::find(kLaunchers, name) != std::end(kLaunchers);
}

/// True for a connection to another node.
bool leaves_node(const OpenFile& file) {
  sockaddr_storage peer{};
  socklen_t bytes = sizeof peer;
  auto* const address = reinterpret_cast<sockaddr*>(&peer);
  if (getpeername(file.descriptor(), address, &bytes) != 0) return false;
  if (peer.ss_family == AF_INET6) return true;
  const auto* const four = reinterpret_cast<const sockaddr_in*>(&peer);
  return peer.ss_family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
}

/// Returns this process's own hold of the launcher's connections to other nodes. Empty if the
/// system does not allow it.
std::vector<OpenFile> connections_of(pid_t launcher, const OpenFile& process) {
  std::vector<OpenFile> found;
  std::error_code error;
  std::filesystem::directory_iterator at(text("/proc/", launcher, "/fd"), error), end;
  for (; !error && at != end; at.increment(error)) {
    const int number = std::atoi(at->path().filename().c_str());
    OpenFile file(int(syscall(SYS_pidfd_getfd, process.descriptor(), number, 0)));
    if (file && leaves_node(file)) found.push_back(std::move(file));
  }
  return found;
}

bool ends_within(int milliseconds, const OpenFile& process) {
  pollfd wait{.fd = process.descriptor(), .events = POLLIN, .revents = 0};
  return poll(&wait, 1, milliseconds) > 0;
}

/// Keeps no file open but these, in ascending order: a launcher waits for the end of outputs, and
/// the next run for locks.
void close_others(const std::vector<int>& kept) {
  unsigned first = 0;
  for (const int file : kept) {
    if (unsigned(file) > first) syscall(SYS_close_range, first, unsigned(file) - 1, 0);
    first = unsigned(file) + 1;
  }
  syscall(SYS_close_range, first, ~0U, 0);
}

/// Works in the child, with calls alone that are safe in the child of a process with threads.
[[noreturn]] void wait_and_end(const OpenFile& self, const OpenFile& launcher,
                               const std::vector<OpenFile>& connections) {
  setsid();
  ends_within(kOwnEnd, self);
  if (ends_within(kGoodEnd, launcher)) _exit(int(Exit::kFinished));
  for (const OpenFile& file : connections) shutdown(file.descriptor(), SHUT_RDWR);
  if (connections.empty() || !ends_within(kForcedEnd, launcher)) {
    syscall(SYS_pidfd_send_signal, launcher.descriptor(), SIGKILL, nullptr, 0);
  }
  _exit(int(Exit::kFinished));
}

void make_child() {
  const pid_t parent = getppid();
  if (!is_launcher(parent)) return;
  const OpenFile launcher = open_process(parent), self = open_process(getpid());
  if (!launcher || !self) return;
  const std::vector<OpenFile> connections = connections_of(parent, launcher);
  std::vector<int> kept = {launcher.descriptor(), self.descriptor()};
  for (const OpenFile& file : connections) kept.push_back(file.descriptor());
  std::ranges::sort(kept);
  if (fork() != 0) return;
  close_others(kept);
  wait_and_end(self, launcher, connections);
}

}  // namespace

void end_stuck_launcher() noexcept try {
  // Another thread may hold for ever a lock that the system's fork waits for.
  const auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread([done] {
    make_child();
    *done = true;
  }).detach();
  const auto begun = std::chrono::steady_clock::now();
  while (!*done && std::chrono::steady_clock::now() - begun < kMostTime) {
    std::this_thread::sleep_for(kPause);
  }
} catch (...) {
  // The launcher then waits for its user.
}

}  // namespace zero::launch
