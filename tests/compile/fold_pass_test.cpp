// Ranks: 1

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/compile/passes.hpp"
#include "src/plan/verify_parts.hpp"
#include "tests/support/sums.hpp"
#include "tests/support/tiny_plans.hpp"
#include "zero/base/align.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::plan {
namespace {

using testing::Sums;

constexpr int kMostMicroBatches = 16;

/// A plan up to its bodies: no addresses, no waits.
Plan written(const Request& request, const testing::TinyModel& model, void (*write)(Plan&)) {
  Plan plan{.request = request,
            .graphs = {testing::tiny_training_graph(model, request.compute), {}}};
  plan.units = lay_out_units(plan.graphs[0], request.groups());
  place_states(plan);
  place_copies(plan);
  write(plan);
  for (Body& body : plan.bodies) number_lanes(body);
  return plan;
}

/// Tells that two lists of ops name the same buffers by other numbers. One list may use a buffer
/// anew where the other one has a further buffer.
class SameBuffers {
 public:
  SameBuffers(const Plan& plan, const Plan& other) : plan_(plan), other_(other) {}

  void begin_anew(int32_t buffer) { ++lives_[buffer]; }
  bool same(int32_t buffer, int32_t other) {
    if (buffer < 0 || other < 0) return buffer == other;
    const std::pair life(buffer, lives_[buffer]);
    const bool new_here = !there_.contains(life), new_there = !here_.contains(other);
    if (new_here != new_there) return false;
    if (new_here) {
      there_[life] = other;
      here_[other] = life;
    }
    const Buffer &a = plan_.buffers[size_t(buffer)], &b = other_.buffers[size_t(other)];
    return there_[life] == other && here_[other] == life && a.bytes == b.bytes && a.use == b.use &&
           a.tier == b.tier && a.persistent == b.persistent;
  }

 private:
  const Plan &plan_, &other_;
  std::map<int32_t, int> lives_;
  std::map<std::pair<int32_t, int>, int32_t> there_;
  std::map<int32_t, std::pair<int32_t, int>> here_;
};

/// Two lists side by side.
class SameOperands {
 public:
  SameOperands(const Plan& plan, const Plan& other)
      : counts_(plan.request.reproducible), buffers_(plan, other) {}

  bool same(const PlanOp& a, const PlanOp& b, size_t i) {
    for (const int32_t buffer : a.anew) buffers_.begin_anew(buffer);
    if (a.operands.size() != b.operands.size()) return false;
    const bool adds = counts_ && Sums::adds(a);
    const bool merges = adds && here_.of(a.operands[0].buffer) != 0;
    if (adds) {
      here_.add(a, i);
      there_.add(b, i);
    }
    for (size_t k = merges ? 1 : 0; k < a.operands.size(); ++k) {
      const Operand &x = a.operands[k], &y = b.operands[k];
      const bool same = x.offset == y.offset && x.bytes == y.bytes && x.mode == y.mode &&
                        x.sharded == y.sharded && x.team == y.team &&
                        same_bytes(x.buffer, y.buffer);
      if (!same) return false;
    }
    return true;
  }

 private:
  bool same_bytes(int32_t a, int32_t b) {
    const uint64_t here = here_.of(a), there = there_.of(b);
    return here == there && (here != 0 || buffers_.same(a, b));
  }

  const bool counts_;
  Sums here_, there_;
  SameBuffers buffers_;
};

bool same_work(const PlanOp& a, const PlanOp& b) {
  return a.kind == b.kind && a.lane == b.lane && a.unit == b.unit && a.graph_op == b.graph_op &&
         a.micro == b.micro && a.in == b.in && a.out == b.out &&
         a.round_gradient == b.round_gradient && a.add == b.add && a.sums == b.sums &&
         a.team == b.team && a.shard_numel == b.shard_numel && a.piece_begin == b.piece_begin &&
         a.piece_numel == b.piece_numel && a.index == b.index;
}

/// A body whose carries are the additions that they make, as a step without a loop has them.
Body with_additions(const Body& body) {
  Body plain = body;
  plain.ops.clear();
  for (const PlanOp& op : body.ops) {
    if (op.kind != Kind::carry) {
      plain.ops.push_back(op);
      continue;
    }
    for (size_t k = 0; k + 1 < op.operands.size(); ++k) {
      PlanOp addition = op;
      addition.kind = Kind::accumulate;
      addition.operands = {op.operands[k], op.operands.back()};
      plain.ops.push_back(std::move(addition));
    }
  }
  number_lanes(plain);
  return plain;
}

void expect_the_same_ops_in_the_same_order(const Request& request,
                                           const testing::TinyModel& model) {
  const Plan looped = written(request, model, write_step);
  const Plan plain = unrolled(looped), full = written(request, model, write_step_in_full);
  EXPECT_TRUE(looped.bodies[kStep].loop.is_there());
  const Body added = with_additions(plain.bodies[kStep]);
  const std::vector<PlanOp>&a = added.ops, &b = full.bodies[kStep].ops;
  EXPECT_LT(looped.bodies[kStep].ops.size(), b.size());
  EXPECT_EQ(a.size(), b.size());
  SameOperands operands(plain, full);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (same_work(a[i], b[i]) && operands.same(a[i], b[i], i)) continue;
    ADD_FAILURE() << "op " << i << ", " << name_of(a[i].kind) << " and " << name_of(b[i].kind);
    return;
  }
}

using Draw = Request (*)(uint64_t seed);

TEST(Fold, UnrolledIsWhatEveryMicroBatchWrittenOutWouldBe) {
  for (Draw draw : {testing::random_request, testing::random_tiered_request}) {
    for (uint64_t seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(seed);
      Request request = draw(seed);
      request.micro_batches = 11 + int(seed % 6);
      ASSERT_LE(request.micro_batches, kMostMicroBatches);
      expect_the_same_ops_in_the_same_order(request, testing::random_model(seed));
    }
  }
}

// What the proof says of a loop's rounds, it says of the same ops one by one.
TEST(Fold, UnrolledPlansAreProvedSafe) {
  for (Draw draw : {testing::random_request, testing::random_tiered_request}) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      Request request = draw(seed);
      request.micro_batches = 9 + int(seed % 4);
      const Plan plan = testing::tiny_plan(request, testing::random_model(seed));
      EXPECT_EQ(verify(unrolled(plan)), std::vector<std::string>{}) << "seed " << seed;
    }
  }
}

TEST(Fold, AMillionMicroBatchesMakeAPlanAsLongAsThatOfTwelve) {
  constexpr int kFew = 12;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Request request = testing::random_tiered_request(seed);
    request.micro_batches = kFew;
    const Plan few = testing::tiny_plan(request, testing::random_model(seed));
    request.micro_batches = 1'000'000;
    const Plan many = testing::tiny_plan(request, testing::random_model(seed));
    // A counter has as many levels more, and at the end as many groups to add.
    const int64_t levels = request.reproducible ? 16 : 0, units = int64_t(few.units.size());
    EXPECT_LE(many.bodies[kStep].ops.size(), few.bodies[kStep].ops.size() + levels * units);
    EXPECT_LE(many.buffers.size(), few.buffers.size() + levels * units);
    const int64_t inputs = 2 * (1'000'000 - kFew) * few.input(0, "tokens").stride;
    int64_t slots = 0;
    for (const Unit& unit : few.units) {
      slots += levels * round_up(unit.shard_numel * 4, kExtentAlignBytes);
    }
    EXPECT_GE(many.arena_bytes[0], few.arena_bytes[0] + inputs);
    EXPECT_LE(many.arena_bytes[0], few.arena_bytes[0] + inputs + slots);
    EXPECT_EQ(many.arena_bytes[1], few.arena_bytes[1]);
    const Machine machine = machine_profile("host", request.compute);
    const Forecast once = forecast(few, machine), often = forecast(many, machine);
    EXPECT_NEAR(often.flops / once.flops, 1e6 / kFew, 1e-3);
    EXPECT_GT(often.step_seconds, 1e4 * once.step_seconds);
  }
}

TEST(Fold, ForecastsWhatThePlanWithoutALoopDoes) {
  for (const bool reproducible : {false, true}) {
    Request request{.stage = 3, .ranks = 4, .micro_batches = 40, .most_written = 4};
    request.reproducible = reproducible;
    const Plan plan = testing::tiny_plan(request), plain = unrolled(plan);
    const Machine machine = machine_profile("host", request.compute);
    const Forecast looped = forecast(plan, machine), full = forecast(plain, machine);
    for (size_t row = 0; row < 3; ++row) {
      EXPECT_EQ(looped.collectives[kStep][row].calls, full.collectives[kStep][row].calls);
      EXPECT_EQ(looped.collectives[kStep][row].bytes, full.collectives[kStep][row].bytes);
    }
    EXPECT_NEAR(looped.flops / full.flops, 1, 1e-12);
    // Some rounds stand for all, and a few carry further.
    const double near = reproducible ? 1e-3 : 1e-9;
    EXPECT_NEAR(looped.step_seconds / full.step_seconds, 1, near);
    EXPECT_NEAR(looped.exposed_seconds / full.exposed_seconds, 1, 1000 * near);
  }
}

Request looped_request() {
  return {.stage = 3, .ranks = 4, .micro_batches = 1000, .keep_distance_numel = 0};
}

/// Deletes each wait of the loop in turn; returns how many.
int delete_waits(Plan& plan) {
  const Loop loop = plan.bodies[kStep].loop;
  int deleted = 0;
  for (int32_t i = loop.begin; i < loop.end; ++i) {
    PlanOp& op = plan.bodies[kStep].ops[size_t(i)];
    const std::vector<Wait> all = op.waits;
    for (size_t w = 0; w < all.size(); ++w) {
      op.waits.erase(op.waits.begin() + ptrdiff_t(w));
      EXPECT_FALSE(verify(plan, 1).empty()) << "op " << i << ", wait " << w;
      op.waits = all;
      ++deleted;
    }
  }
  return deleted;
}

TEST(Fold, EveryDeletedWaitOfALoopIsFound) {
  Plan plan = testing::tiny_plan(looped_request());
  EXPECT_EQ(verify(plan), std::vector<std::string>{});
  EXPECT_GT(delete_waits(plan), 10);
}

/// Lets each wait of the loop in turn ask for `count_of` of it, where that is 1 or more, and looks
/// at what verify() says. Returns how many did.
template <class Count, class Look>
int move_waits(Plan& plan, const Count& count_of, const Look& look) {
  Body& body = plan.bodies[kStep];
  const Rounds rounds(body);
  int moved = 0;
  for (int32_t i = body.loop.begin; i < body.loop.end; ++i) {
    for (Wait& wait : body.ops[size_t(i)].waits) {
      const int32_t count = count_of(rounds, wait);
      if (count < 1) continue;
      const Wait kept = wait;
      wait.count = count;
      look(verify(plan, 1));
      wait = kept;
      ++moved;
    }
  }
  return moved;
}

// In the first round such a wait is met; from the second on it is one of two rounds ago.
TEST(Fold, AWaitThatOnlyTheFirstRoundHoldsIsFound) {
  Plan plan = testing::tiny_plan(looped_request());
  const auto a_round_earlier = [](const Rounds& rounds, const Wait& wait) {
    const bool is_before = wait.count <= rounds.before(wait.lane);
    return is_before ? wait.count - rounds.inside(wait.lane) : 0;
  };
  const auto look = [](const std::vector<std::string>& found) { EXPECT_FALSE(found.empty()); };
  EXPECT_GT(move_waits(plan, a_round_earlier, look), 0);
}

// The proof looks at the round before and at nothing in front of it.
TEST(Fold, AWaitForAnOpOfTwoRoundsAgoIsFound) {
  Plan plan = testing::tiny_plan(looped_request());
  const auto two_rounds_ago = [](const Rounds& rounds, const Wait& wait) {
    const int32_t inside = rounds.inside(wait.lane);
    return inside == 0 ? 0 : rounds.before(wait.lane) - inside;
  };
  EXPECT_GT(move_waits(plan, two_rounds_ago,
                       [](const std::vector<std::string>& found) {
                         ASSERT_EQ(found.size(), 1u);
                         EXPECT_NE(found[0].find("more than a round ago"), std::string::npos)
                             << found[0];
                       }),
            0);
}

TEST(Fold, InputsThatLeaveTheirBufferInTheLastRoundAndWritesThatMoveAreFound) {
  Plan plan = testing::tiny_plan(looped_request());
  Body& body = plan.bodies[kStep];
  int moving = 0;
  for (int32_t i = body.loop.begin; i < body.loop.end; ++i) {
    for (Operand& operand : body.ops[size_t(i)].operands) {
      if (operand.stride == 0) continue;
      const Operand kept = operand;
      operand.stride += kExtentAlignBytes;
      EXPECT_FALSE(verify(plan, 1).empty());
      operand = kept;
      operand.mode = Mode::update;
      EXPECT_FALSE(verify(plan, 1).empty());
      operand = kept;
      ++moving;
    }
  }
  EXPECT_GE(moving, 3) << "tokens twice and targets";
}

// What begins anew is over: an op that still reads it is found, and so is a buffer that never
// begins anew, whose bytes others use between its lives.
TEST(Fold, ABufferThatBeginsAnewTooLateOrNeverIsFound) {
  Plan plan = testing::tiny_plan(looped_request());
  Body& body = plan.bodies[kStep];
  int late = 0;
  for (int32_t i = body.loop.begin; i < body.loop.end; ++i) {
    PlanOp& op = body.ops[size_t(i)];
    for (const int32_t buffer : op.anew) {
      for (int32_t j = i + 1; j < body.loop.end; ++j) {
        PlanOp& reader = body.ops[size_t(j)];
        const bool reads = std::ranges::any_of(reader.operands, [&](const Operand& operand) {
          return operand.buffer == buffer && operand.mode == Mode::read;
        });
        if (!reads) continue;
        reader.anew.push_back(buffer);
        EXPECT_FALSE(verify(plan, 1).empty()) << "op " << j;
        reader.anew.pop_back();
        ++late;
        break;
      }
    }
  }
  EXPECT_GT(late, 20);
  for (PlanOp& op : body.ops) op.anew.clear();
  EXPECT_FALSE(verify(plan, 1).empty());
}

TEST(Fold, EveryDeletedWaitOfALoopThatCountsIsFound) {
  for (const Tier home : {Tier::device, Tier::nvme}) {
    Request request = looped_request();
    request.reproducible = true;
    request.optimizer_home = home;
    Plan plan = testing::tiny_plan(request);
    EXPECT_EQ(verify(plan), std::vector<std::string>{});
    EXPECT_GT(delete_waits(plan), 10);
  }
}

// Stretches that differ are no rounds of one loop.
TEST(Fold, RefusesStretchesThatDifferAndBuffersThatAreStillInUse) {
  Plan plan;
  for (int i = 0; i < 3; ++i) plan.buffers.push_back({.name = "b", .bytes = 8});
  const auto op = [](int32_t buffer, Mode mode) {
    return PlanOp{.kind = Kind::clear, .operands = {{.buffer = buffer, .bytes = 8, .mode = mode}}};
  };
  const MiddlePair pair{.first = 0, .second = 1, .end = 2, .rounds = 3, .micro_batches = 1};
  Body body{.name = "step"};
  const auto folds = [&](const std::vector<PlanOp>& ops) {
    Plan copy = plan;
    body.ops = ops;
    return fold(copy, body, pair) && copy.buffers.size() == 2;
  };
  EXPECT_FALSE(folds({op(0, Mode::write), op(1, Mode::read), op(1, Mode::read)}));
  EXPECT_FALSE(folds({op(0, Mode::write), op(1, Mode::write), op(0, Mode::read)})) << "0 again";
  EXPECT_TRUE(folds({op(0, Mode::write), op(1, Mode::write), op(1, Mode::read)}));
  EXPECT_EQ(body.ops[2].operands[0].buffer, 0);
  for (const int i : {0, 1}) EXPECT_EQ(body.ops[size_t(i)].anew, std::vector<int32_t>{0}) << i;
  EXPECT_EQ(body.loop.rounds, 3);
}

}  // namespace
}  // namespace zero::plan
