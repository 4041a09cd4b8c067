// Ranks: 1
#include "zero/monitor/rank_times.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace zero::monitor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Ballots = std::vector<launch::Ballot>;

Ballots ballots_of(const std::vector<float>& times) {
  Ballots ballots;
  for (const float ms : times) ballots.push_back({.compute_ms = ms, .waited_ms = 1});
  return ballots;
}

/// The news of so many steps with these times.
std::vector<std::string> news_of(RankWatch& watch, int steps, const std::vector<float>& times) {
  std::vector<std::string> news;
  for (int step = 0; step < steps; ++step) {
    watch.add(ballots_of(times));
    if (!watch.news().empty()) news.push_back(watch.news());
  }
  return news;
}

RankPlaces places() { return {.hosts = {"n1", "n1", "n2"}, .devices = {"", "", "4"}}; }

TEST(RankWatch, NamesARankThatLagsOnceAndItsEnd) {
  RankWatch watch(places());
  EXPECT_THAT(news_of(watch, 19, {100, 100, 200}), IsEmpty()) << "20 steps are needed";
  EXPECT_THAT(news_of(watch, 1, {100, 100, 200}),
              ElementsAre(AllOf(HasSubstr("rank 2 on n2, device 4: computes 2.00 times"))));
  EXPECT_THAT(news_of(watch, 100, {100, 100, 200}), IsEmpty());
  EXPECT_THAT(news_of(watch, 100, {100, 100, 112}), IsEmpty()) << "between both limits";
  EXPECT_THAT(news_of(watch, 100, {100, 100, 105}),
              ElementsAre(HasSubstr("as fast as the others")));
}

TEST(BeginsToLag, NeedsAShareAndMilliseconds) {
  EXPECT_TRUE(begins_to_lag(120, 100));
  EXPECT_FALSE(begins_to_lag(114, 100)) << "at most 1.15 times";
  EXPECT_FALSE(begins_to_lag(9, 4)) << "five milliseconds";
  EXPECT_FALSE(begins_to_lag(9, 0));
}

TEST(RankWatch, BearsSingleSlowStepsAndShortLags) {
  RankWatch watch(places());
  for (int round = 0; round < 40; ++round) {
    EXPECT_THAT(news_of(watch, 1, {100, 900, 100}), IsEmpty());
    EXPECT_THAT(news_of(watch, 2, {100, 100, 100}), IsEmpty());
  }
  RankWatch quick(places());
  EXPECT_THAT(news_of(quick, 100, {4, 4, 8}), IsEmpty()) << "less than five milliseconds";
}

TEST(RankWatch, FindsTheSlowerOneOfTwo) {
  RankWatch watch({.hosts = {"n1", "n2"}, .devices = {"", ""}});
  EXPECT_THAT(news_of(watch, 30, {100, 130}),
              ElementsAre(HasSubstr("rank 1 on n2: computes 1.30")));
}

TEST(RankWatch, TellsOfManyRanksInTurns) {
  RankPlaces many;
  std::vector<float> times(31, 100);
  for (size_t rank = 0; rank < times.size(); ++rank) {
    many.hosts.emplace_back("n");
    many.devices.emplace_back("");
    if (rank % 2) times[rank] = 200;
  }
  RankWatch watch(many);
  const std::vector<std::string> news = news_of(watch, 40, times);
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  ASSERT_EQ(news.size(), 2u);
  EXPECT_EQ(lines(news[0]), 8);
  EXPECT_EQ(lines(news[1]), 7);
}

TEST(RankWatch, WritesALine) {
  const RankWatch watch(places());
  std::string line;
  watch.append_line(line, 7, ballots_of({1, 2, 3.5}));
  EXPECT_EQ(line,
            "{\"step\": 7, \"hosts\": [\"n1\",\"n1\",\"n2\"], \"devices\": [\"\",\"\",\"4\"], "
            "\"compute_ms\": [1.000, 2.000, 3.500], \"waited_ms\": [1.000, 1.000, 1.000]}\n");
  EXPECT_LE(line.size(), 64 + RankWatch::line_bytes(places()));
}

}  // namespace
}  // namespace zero::monitor
