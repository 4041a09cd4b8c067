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
  void ask(UserRequest request) const { std::ofstream(path(request)) << ""; }
  bool is_there(UserRequest request) const { return std::filesystem::exists(path(request)); }
  std::string path(UserRequest request) const { return folder_.path() + "/" + name_of(request); }

  testing_support::TempFolder folder_{"requests"};
  UserRequests requests_{folder_.path()};
  UserRequests::Clock::time_point now_ = UserRequests::Clock::now();
};

TEST_F(RequestFiles, AskOnce) {
  EXPECT_EQ(requests_.take(now_), UserRequest::none);
  ask(UserRequest::save);
  EXPECT_EQ(requests_.take(now_ + 1s), UserRequest::save);
  EXPECT_FALSE(is_there(UserRequest::save));
  EXPECT_EQ(requests_.take(now_ + 2s), UserRequest::none);
}

TEST_F(RequestFiles, ToStopSavesToo) {
  ask(UserRequest::save);
  ask(UserRequest::stop);
  EXPECT_EQ(requests_.take(now_), UserRequest::stop);
  EXPECT_FALSE(is_there(UserRequest::save));
  EXPECT_FALSE(is_there(UserRequest::stop));
}

TEST_F(RequestFiles, AreLookedForTwiceASecond) {
  EXPECT_EQ(requests_.take(now_), UserRequest::none);
  ask(UserRequest::stop);
  EXPECT_EQ(requests_.take(now_ + 499ms), UserRequest::none);
  EXPECT_EQ(requests_.take(now_ + 501ms), UserRequest::stop);
}

TEST_F(RequestFiles, OfAnEarlierLaunchAreForgotten) {
  ask(UserRequest::stop);
  EXPECT_THAT(requests_.forget(), ElementsAre("stop_now"));
  EXPECT_THAT(requests_.forget(), IsEmpty());
}

TEST(UserRequests, OfNoFolderAreNone) {
  EXPECT_EQ(UserRequests().take(UserRequests::Clock::now()), UserRequest::none);
}

}  // namespace
}  // namespace zero::launch
