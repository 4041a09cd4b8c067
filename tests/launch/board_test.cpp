// Ranks: 1 2 4
#include "zero/launch/board.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <thread>

namespace zero::launch {
namespace {

Word waits(int rank, double silent_seconds = 0.1) {
  return {.rank = rank, .silent_seconds = silent_seconds, .step = 12, .last_op = "sum of h.3"};
}

Word works(int rank) {
  return {.rank = rank, .silent_seconds = 0.1, .works = true, .step = 12, .last_op = "adam of h.3"};
}

TEST(BlamedNode, IsTheOneThatTwoOthersDoNotReach) {
  const LostLink first{"n1", "n3", "c", ""}, second{"n2", "n3", "c", ""}, back{"n3", "n1", "a", ""};
  const std::vector<Word> words = {waits(0)};
  EXPECT_EQ(blamed_node(words, 2, {.links = {back, first, second}}), "n3");
  EXPECT_EQ(blamed_node(words, 2, {.links = {back, first}}), "") << "either may be at fault";
  EXPECT_EQ(blamed_node(words, 2, {.nodes = {"n3"}, .links = {first}}), "n3");
}

TEST(DescribeHang, BlamesTheRankThatSaysNothingWhereverItStands) {
  EXPECT_EQ(describe_hang(std::vector{waits(0), waits(1, 2.1)}, 2),
            "no word from rank 1 for 2.1 s; its last op: sum of h.3, step 12\n"
            "  rank 0 waits, last op: sum of h.3, step 12\n"
            "  rank 1 says nothing, last op: sum of h.3, step 12");
  EXPECT_TRUE(describe_hang(std::vector{waits(0, 2.1), works(1)}, 2)
                  .starts_with("no word from rank 0 for 2.1 s; its last op: sum of h.3"));
}

TEST(DescribeHang, BlamesAllRanksThatSayNothing) {
  const std::string said = describe_hang(std::vector{waits(0), waits(1, 3), waits(2, 4)}, 2);
  EXPECT_NE(said.find("no word from rank 1 for 3.0 s"), std::string::npos);
  EXPECT_NE(said.find("; no word from rank 2 for 4.0 s"), std::string::npos);
}

TEST(DescribeHang, CallsNoRankDeadThatLives) {
  const std::string said = describe_hang(std::vector{waits(0), works(1)}, 2);
  EXPECT_TRUE(said.starts_with("rank 1 lives, but its op does not end; its last op: adam"));
  EXPECT_EQ(said.find("no word"), std::string::npos);
}

TEST(DescribeHang, BlamesNobodyWhereAllWait) {
  EXPECT_TRUE(describe_hang(std::vector{waits(0), waits(1)}, 2)
                  .starts_with("all ranks wait for each other\n  rank 0 waits"));
}

TEST(Board, ShowsEachRanksStepOpsAndSilence) {
  Board board;
  plan::Plan plan;
  ASSERT_TRUE(board.shows_all());
  board.begin_step(10 + board.rank());
  board.live(board.rank() == 0, 5);
  MPI_Barrier(MPI_COMM_WORLD);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  if (board.rank() == 0) board.live(true, 7);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::vector<Word> words = board.words(&plan);
  for (const Word& word : words) {
    EXPECT_EQ(word.works, word.rank == 0);
    EXPECT_EQ(word.step, 10 + word.rank);
    EXPECT_EQ(word.last_op, "none, at its start");
    if (word.rank != 0) {
      EXPECT_GE(word.silent_seconds, 0.3);
    }
  }
  EXPECT_LT(words[0].silent_seconds, words.back().silent_seconds + 0.001);
  EXPECT_EQ(board.finished_ops(), 7 + 5 * int64_t(words.size() - 1));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Board, TheOthersSeeWhoGivesUp) {
  Board board;
  if (board.rank() == 0) board.give_up();
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(board.another_gave_up(), board.rank() != 0);
  EXPECT_EQ(board.lower_gave_up(), board.rank() != 0);
  MPI_Barrier(MPI_COMM_WORLD);
  board.give_up();
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(board.lower_gave_up(), board.rank() != 0) << "the lowest has none below it";
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(DescribeHang, BlamesTheDeadWhateverTheyLastSaid) {
  Word dead = works(1);
  dead.died = true;
  EXPECT_TRUE(is_silent(dead, 1000));
}

TEST(Board, CountsWhatMovesAnywhereAndSeesWhoIsBusy) {
  Board board;
  board.live(false, 5);
  board.beat(10 + board.rank());
  board.set_busy(board.rank() == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  EXPECT_EQ(board.moved(), 15 * ranks + ranks * (ranks - 1) / 2);
  if (board.rank() == 0) board.beat(10);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(board.any_is_busy());
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_FALSE(board.any_is_busy()) << "who gives no sign of life may be stopped";
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Board, KnowsWhoHasLeft) {
  Board board;
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(board.others_have_left(), board.words(nullptr).size() == 1);
  MPI_Barrier(MPI_COMM_WORLD);
  board.leave();
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(board.others_have_left());
  EXPECT_FALSE(board.dead_rank());
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace zero::launch
