// Ranks: 1
#include "src/launch/stuck_launcher.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace zero::launch {
namespace {

constexpr int kStatus = 10, kNoNetwork = 77;

/// Returns one end of a connection of this process with itself; -1 without a network.
int connection() {
  const int door = socket(AF_INET6, SOCK_STREAM, 0), end = socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  socklen_t bytes = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  const bool open = bind(door, name, bytes) == 0 && listen(door, 1) == 0 &&
                    getsockname(door, name, &bytes) == 0 && connect(end, name, bytes) == 0 &&
                    accept(door, nullptr, nullptr) >= 0;
  return open ? end : -1;
}

/// Stands for a launcher of this name, whose rank ends: waits for the end of a connection, or,
/// deaf, for ever. Returns how it ended, as wait() does.
int launch(const char* name, bool deaf) {
  const pid_t launcher = fork();
  if (launcher == 0) {
    prctl(PR_SET_NAME, name);
    const int end = connection();
    if (end < 0) _exit(kNoNetwork);
    if (fork() == 0) {
      end_stuck_launcher();
      _exit(0);
    }
    alarm(deaf ? 15 : 6);
    char byte = 0;
    if (read(end, &byte, 1) == 0 && !deaf) _exit(kStatus);
    for (;;) pause();
  }
  int status = 0;
  waitpid(launcher, &status, 0);
  return status;
}

TEST(StuckLauncher, EndsByItselfWithoutItsConnections) {
  const int status = launch("orted", false);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNetwork) GTEST_SKIP() << "no IPv6 here";
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kStatus);
}

TEST(StuckLauncher, IsKilledIfItGoesOnWithoutThem) {
  const int status = launch("mpirun", true);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNetwork) GTEST_SKIP() << "no IPv6 here";
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(StuckLauncher, IsNoOtherProgram) {
  const int status = launch("bash", false);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNetwork) GTEST_SKIP() << "no IPv6 here";
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGALRM) << "which ends this test";
}

}  // namespace
}  // namespace zero::launch
