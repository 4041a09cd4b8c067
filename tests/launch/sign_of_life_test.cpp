// Ranks: 1
#include "zero/launch/sign_of_life.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "zero/launch/peers.hpp"
#include "zero/launch/watchdog.hpp"

namespace zero::launch {
namespace {

using std::chrono::milliseconds;

/// A rank that is alone, with a watchdog whose patience is 0.1 s: a disk has 1 s.
class LoneDiskWork : public ::testing::Test {
 protected:
  LoneDiskWork() { peers.watch_with(&watchdog); }
  ~LoneDiskWork() override { peers.watch_with(nullptr); }

  std::atomic<int> hangs{0};
  std::string said;
  Watchdog watchdog{{.timeout_seconds = 0.1,
                     .finished = [] { return int64_t(0); },
                     .running = [] { return std::string("a step"); },
                     .on_hang =
                         [this](const std::string& what, double) {
                           said = what;
                           ++hangs;
                         }}};
  Peers peers;
};

TEST_F(LoneDiskWork, ThatMovesNothingIsAHangInTheEnd) {
  SignOfLife sign(peers, {.name = "the save of a checkpoint", .bytes = 1});
  std::this_thread::sleep_for(milliseconds(700));
  EXPECT_EQ(hangs, 0) << "a disk may be slow";
  for (int i = 0; i < 100 && hangs == 0; ++i) std::this_thread::sleep_for(milliseconds(50));
  sign.finish();
  EXPECT_EQ(hangs, 1);
  EXPECT_EQ(said, "the save of a checkpoint");
}

TEST_F(LoneDiskWork, ThatMovesIsWaitedFor) {
  std::atomic<int64_t> moved{0};
  const auto count = [&] { return moved.load(); };
  SignOfLife sign(peers, {.name = "the save of a checkpoint", .bytes = 1, .moved = count});
  for (int i = 0; i < 10; ++i, ++moved) std::this_thread::sleep_for(milliseconds(200));
  sign.finish();
  EXPECT_EQ(hangs, 0);
}

TEST_F(LoneDiskWork, ThatHasEndedIsNoHang) {
  { SignOfLife sign(peers, {.name = "the save of a checkpoint", .bytes = 1}); }
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_EQ(hangs, 0);
}

}  // namespace
}  // namespace zero::launch
