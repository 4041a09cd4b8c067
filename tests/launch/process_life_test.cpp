// Ranks: 1

#include "src/launch/process_life.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

namespace zero::launch {
namespace {

/// Memory that a child shares, zeros at first.
struct Shared {
  alignas(LifeLock) std::byte lock[sizeof(LifeLock)];
  std::atomic<int> said;
};

class OfAChild : public ::testing::Test {
 protected:
  OfAChild()
      : shared_(static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~OfAChild() override { munmap(shared_, sizeof(Shared)); }

  LifeLock& lock() { return *reinterpret_cast<LifeLock*>(shared_->lock); }

  /// A child that takes the lock, does `then`, says so and waits to be killed.
  template <class Then>
  void begin(const Then& then) {
    child_ = fork();
    if (child_ == 0) {
      std::construct_at(&lock());
      then();
      shared_->said = 1;
      for (;;) pause();
    }
    while (shared_->said == 0) std::this_thread::yield();
  }

  void end() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  Shared* shared_;
  pid_t child_ = 0;
};

TEST_F(OfAChild, SaysNothingOfOneThatHasNotBegun) {
  EXPECT_FALSE(lock().has_died());
  EXPECT_FALSE(lock().has_left());
}

TEST_F(OfAChild, TellsOfItsDeathToAllWhoAskAndAgain) {
  begin([] {});
  EXPECT_FALSE(lock().has_died());
  end();
  EXPECT_TRUE(lock().has_died());
  EXPECT_TRUE(lock().has_died());
  EXPECT_FALSE(lock().has_left());
}

TEST_F(OfAChild, HoldsOnWhileItIsStopped) {
  begin([] {});
  kill(child_, SIGSTOP);
  waitpid(child_, nullptr, WUNTRACED);
  EXPECT_FALSE(lock().has_died());
  end();
  EXPECT_TRUE(lock().has_died());
}

TEST_F(OfAChild, TakesNoneForDeadThatHasLeft) {
  begin([this] { lock().leave(); });
  EXPECT_TRUE(lock().has_left());
  EXPECT_FALSE(lock().has_died());
  end();
  EXPECT_FALSE(lock().has_died());
}

TEST(MovedBytes, RisesWithWhatIsReadAndWrittenAndNotByItself) {
  MovedBytes moved;
  const int64_t before = moved.count();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(moved.count(), before);
  const std::string path = ::testing::TempDir() + "moved_bytes";
  std::ofstream(path) << std::string(100'000, 'x');
  const int64_t written = moved.count();
  EXPECT_GE(written, before + 100'000);
  std::ifstream file(path);
  const std::string read(std::istreambuf_iterator<char>(file), {});
  EXPECT_GE(moved.count(), written + 100'000);
  const int64_t all = moved.count();
  moved.leave_out(100'000);
  EXPECT_EQ(moved.count(), all - 100'000);
}

}  // namespace

}  // namespace zero::launch
