// Ranks: 1
#include "src/launch/hang_notes.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace zero::launch {
namespace {

constexpr double kPatience = 4;

Word waits(int rank, double silent_seconds = 0.1) {
  return {.rank = rank, .silent_seconds = silent_seconds, .step = 12, .last_op = "sum of h.3"};
}

class HangNotesTest : public ::testing::Test {
 protected:
  ~HangNotesTest() override { std::filesystem::remove_all(folder_); }

  HangNotes notes(const std::string& launch = "this") const {
    return {folder_, {.hosts = {"n1", "n1", "n2", "n2"}, .launch = launch}};
  }

  std::string folder_ = ::testing::TempDir() + "hang_notes";
};

TEST_F(HangNotesTest, NameTheRankAndItsNodeThatAnotherNodeCannotSee) {
  notes().leave(std::vector{waits(0), waits(1)});
  notes().leave(std::vector{waits(2), waits(3, 4.1)});
  const Hang hang = notes().cause(kPatience);
  EXPECT_EQ(hang.what,
            "no word from rank 3 on n2 for 4.1 s; its last op: sum of h.3, step 12\n"
            "  rank 0 on n1 waits, last op: sum of h.3, step 12\n"
            "  rank 1 on n1 waits, last op: sum of h.3, step 12\n"
            "  rank 2 on n2 waits, last op: sum of h.3, step 12\n"
            "  rank 3 on n2 says nothing, last op: sum of h.3, step 12");
  EXPECT_EQ(hang.blamed, "n2");
}

TEST_F(HangNotesTest, NameANodeThatLeavesNoneInTime) {
  notes().leave(std::vector{waits(0), waits(1)});
  const auto begun = std::chrono::steady_clock::now();
  const Hang hang = notes().cause(kPatience);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
  EXPECT_GE(passed, HangNotes::kPatience);
  EXPECT_LT(passed, HangNotes::kPatience + std::chrono::seconds(2));
  EXPECT_TRUE(hang.what.starts_with("no word from node n2, perhaps lost\n")) << hang.what;
  EXPECT_TRUE(hang.what.ends_with("\n  node n2 says nothing")) << hang.what;
  EXPECT_EQ(hang.blamed, "n2");
}

TEST_F(HangNotesTest, BlameNoSilentNodeIfARankIsToBlameElsewhere) {
  notes().leave(std::vector{waits(0), waits(1, 4.1)});
  const Hang hang = notes().cause(kPatience);
  EXPECT_TRUE(hang.what.starts_with("no word from rank 1 on n1 for 4.1 s")) << hang.what;
  EXPECT_EQ(hang.what.find("perhaps"), std::string::npos) << hang.what;
  EXPECT_EQ(hang.blamed, "n1");
}

TEST_F(HangNotesTest, TellHowLongAgoASlowNodeMoved) {
  Word slow = waits(2);
  slow.works = true;
  slow.moved_seconds = 1.2;
  notes().leave(std::vector{waits(0), waits(1)});
  notes().leave(std::vector{slow, waits(3)});
  const Hang hang = notes().cause(kPatience);
  EXPECT_NE(hang.what.find("\n  rank 2 on n2 is at work, last op: sum of h.3, step 12, its node "
                           "moved 1.2 s ago\n"),
            std::string::npos)
      << hang.what;
}

TEST_F(HangNotesTest, BlameARankAtWorkIfAllRanksSpeak) {
  Word works = waits(1);
  works.works = true;
  notes().leave(std::vector{waits(0), works});
  notes().leave(std::vector{waits(2), waits(3)});
  const Hang hang = notes().cause(kPatience);
  EXPECT_TRUE(hang.what.starts_with("rank 1 on n1 lives, but its op does not end")) << hang.what;
  EXPECT_EQ(hang.blamed, "n1");
}

TEST_F(HangNotesTest, BlameNobodyIfAllWait) {
  notes().leave(std::vector{waits(0), waits(1)});
  notes().leave(std::vector{waits(2), waits(3)});
  const Hang hang = notes().cause(kPatience);
  EXPECT_TRUE(hang.what.starts_with("all ranks wait for each other")) << hang.what;
  EXPECT_EQ(hang.blamed, "");
  EXPECT_FALSE(hang.is_cut);
}

TEST_F(HangNotesTest, NameALinkWithoutAnAnswerIfAllWait) {
  const LostLink there{"n1", "n2", "10.0.0.2", "eth0"}, back{"n2", "n1", "10.0.0.1", ""};
  notes().leave(std::vector{waits(0), waits(1)}, std::vector{there});
  notes().leave(std::vector{waits(2), waits(3)}, std::vector{back});
  const Hang hang = notes().cause(kPatience);
  EXPECT_TRUE(hang.what.starts_with(
      "node n2 does not answer node n1 (10.0.0.2 by eth0); node n1 does not answer node n2 "
      "(10.0.0.1); look at the link between them\n"))
      << hang.what;
  EXPECT_EQ(hang.blamed, "") << "either may be at fault";
  EXPECT_TRUE(hang.is_cut);
}

TEST_F(HangNotesTest, BlameARankBeforeALink) {
  notes().leave(std::vector{waits(0), waits(1, 4.1)});
  notes().leave(std::vector{waits(2), waits(3)}, std::vector{LostLink{"n2", "n1", "10.0.0.1", ""}});
  const Hang hang = notes().cause(kPatience);
  EXPECT_TRUE(hang.what.starts_with("no word from rank 1 on n1")) << hang.what;
  EXPECT_EQ(hang.blamed, "n1");
}

TEST_F(HangNotesTest, OfAnotherLaunchOrDamagedAreNone) {
  EXPECT_FALSE(notes().any());
  notes("earlier").leave(std::vector{waits(0)});
  EXPECT_FALSE(notes().any());
  std::ofstream(folder_ + "/hangs/n1.json") << "{\"launch\": \"this\", \"ranks\": [{}]}";
  EXPECT_FALSE(notes().any());
  notes().leave(std::vector{waits(2)});
  EXPECT_TRUE(notes().any());
}

}  // namespace
}  // namespace zero::launch
