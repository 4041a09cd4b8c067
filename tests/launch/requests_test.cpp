// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/small_checkpoint.hpp"
#include "zero/launch/stop.hpp"

namespace zero::launch {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RequestFiles : public ::testing::Test {
 protected:
  void ask(Request request) const { std::ofstream(path(request)) << ""; }
  bool is_there(Request request) const { return std::filesystem::exists(path(request)); }
  std::string path(Request request) const { return folder_.path() + "/" + name_of(request); }

  testing_support::TempFolder folder_{"requests"};
  Requests requests_{folder_.path()};
  Requests::Clock::time_point now_ = Requests::Clock::now();
};

TEST_F(RequestFiles, AskOnce) {
  EXPECT_EQ(requests_.take(now_), Request::none);
  ask(Request::save);
  EXPECT_EQ(requests_.take(now_ + 1s), Request::save);
  EXPECT_FALSE(is_there(Request::save));
  EXPECT_EQ(requests_.take(now_ + 2s), Request::none);
}

TEST_F(RequestFiles, ToStopSavesToo) {
  ask(Request::save);
  ask(Request::stop);
  EXPECT_EQ(requests_.take(now_), Request::stop);
  EXPECT_FALSE(is_there(Request::save));
  EXPECT_FALSE(is_there(Request::stop));
}

TEST_F(RequestFiles, AreLookedForTwiceASecond) {
  EXPECT_EQ(requests_.take(now_), Request::none);
  ask(Request::stop);
  EXPECT_EQ(requests_.take(now_ + 499ms), Request::none);
  EXPECT_EQ(requests_.take(now_ + 501ms), Request::stop);
}

TEST_F(RequestFiles, OfAnEarlierLaunchAreForgotten) {
  ask(Request::stop);
  EXPECT_THAT(requests_.forget(), ElementsAre("stop_now"));
  EXPECT_THAT(requests_.forget(), IsEmpty());
}

TEST(Requests, OfNoFolderAreNone) {
  EXPECT_EQ(Requests().take(Requests::Clock::now()), Request::none);
}

}  // namespace
}  // namespace zero::launch
