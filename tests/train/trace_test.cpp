// Ranks: 1
#include "src/train/trace.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/hand_plan.hpp"

namespace zero::train {
namespace {

using plan::Lane;
using run::OpTime;

OpTime::Clock::time_point at(int64_t ns) {
  return OpTime::Clock::time_point(std::chrono::nanoseconds(ns));
}

/// One step: reduce clears 8 bytes in 1 to 2 us, compute waits for it and copies them in 3 to 5 us.
struct Traced {
  testing::HandPlan hand;
  std::vector<OpTime> compute = {{at(3000), at(5000)}}, reduce = {{at(1000), at(2000)}};
  run::TracedBody body{.body = plan::kStep, .step = 7, .whole = {at(500), at(6000)}, .ops = {}};

  Traced() {
    const int32_t from = hand.keep("from", 8), to = hand.keep("to", 8);
    hand.clear(from, Lane::reduce);
    hand.accumulate(from, to, false).waits = {{Lane::reduce, 1}};
    body.ops[size_t(Lane::compute)] = compute;
    body.ops[size_t(Lane::reduce)] = reduce;
  }

  nlohmann::json events(int64_t origin_ns = 500) const {
    return nlohmann::json::parse("[" +
                                 trace_events({.plan = hand.plan,
                                               .bodies = std::span(&body, 1),
                                               .rank = 3,
                                               .host = "here",
                                               .origin_ns = origin_ns}) +
                                 "]");
  }
};

nlohmann::json of_phase(const nlohmann::json& events, const std::string& phase) {
  nlohmann::json found;
  for (const auto& event : events) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

TEST(Trace, NamesTheRankAndALaneForEachThread) {
  const auto names = of_phase(Traced().events(), "M");
  ASSERT_EQ(names.size(), 4u);
  EXPECT_EQ(names[0]["args"]["name"], "rank 3 on here");
  EXPECT_EQ(names[1]["args"]["name"], "compute");
  EXPECT_EQ(names[2]["args"]["name"], "reduce");
  EXPECT_EQ(names[3]["args"]["name"], "bodies");
  for (const auto& name : names) EXPECT_EQ(name["pid"], 3);
}

TEST(Trace, TellsOfEachOpWhenItRanAndOnWhat) {
  const auto complete = of_phase(Traced().events(), "X");
  ASSERT_EQ(complete.size(), 3u);
  EXPECT_EQ(complete[0]["name"], "step 7");
  EXPECT_EQ(complete[0]["ts"], 0.0);
  EXPECT_EQ(complete[0]["dur"], 5.5);
  EXPECT_EQ(complete[1]["name"], "clear");
  EXPECT_EQ(complete[1]["tid"], int(Lane::reduce));
  EXPECT_EQ(complete[1]["ts"], 0.5);
  EXPECT_EQ(complete[1]["dur"], 1.0);
  EXPECT_EQ(complete[2]["name"], "accumulate");
  EXPECT_EQ(complete[2]["tid"], int(Lane::compute));
  EXPECT_EQ(complete[2]["args"]["bytes"], 16);
  EXPECT_EQ(complete[2]["args"]["step"], 7);
}

TEST(Trace, DrawsAnArrowFromWhatWasWaitedFor) {
  const auto events = Traced().events();
  const auto tails = of_phase(events, "s"), heads = of_phase(events, "f");
  ASSERT_EQ(tails.size(), 1u);
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(tails[0]["id"], heads[0]["id"]);
  EXPECT_EQ(tails[0]["tid"], int(Lane::reduce));
  EXPECT_EQ(tails[0]["ts"], 1.499) << "inside the op, or nothing is drawn";
  EXPECT_EQ(heads[0]["tid"], int(Lane::compute));
  EXPECT_EQ(heads[0]["ts"], 2.5);
}

TEST(Trace, KeepsFewerBodiesOfLongerPlans) {
  Traced traced;
  EXPECT_EQ(traced_bodies(traced.hand.plan), 8);
  auto& ops = traced.hand.plan.bodies[plan::kStep].ops;
  ops.resize(size_t(1) << 16, ops[0]);
  EXPECT_EQ(traced_bodies(traced.hand.plan), 2);
  ops.resize(size_t(1) << 18, ops[0]);
  EXPECT_EQ(traced_bodies(traced.hand.plan), 1);
}

}  // namespace
}  // namespace zero::train
