// Ranks: 1
#include "src/compile/passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "tests/support/tiny_plans.hpp"
#include "zero/plan/lifetimes.hpp"

namespace zero::plan {
namespace {

struct Range {
  int64_t begin, end;
};

/// The start of the tightest gap for `bytes` among ranges in order, or -1; `top`: the end of all.
int64_t tightest(std::vector<Range> ranges, int64_t bytes, int64_t& top) {
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const Range& a, const Range& b) { return a.begin < b.begin; });
  int64_t best = -1, least = std::numeric_limits<int64_t>::max();
  top = 0;
  for (const Range& range : ranges) {
    const int64_t slack = range.begin - top - bytes;
    if (slack >= 0 && slack < least) {
      best = top;
      least = slack;
    }
    top = std::max(top, range.end);
  }
  return best;
}

/// Where a buffer goes among all that are there: every one is looked at.
class Slow {
 public:
  Slow(const Plan& plan, const Body& body, Tier tier) : plan_(plan) {
    for (const Buffer& buffer : plan.buffers) {
      const bool rests = buffer.persistent && buffer.copy_of < 0 && buffer.tier == tier;
      if (rests) base_ = std::max(base_, buffer.offset + placed_bytes(buffer));
    }
    for (const Lifetime& life : find_lifetimes(plan, body)) {
      if (plan.buffers[size_t(life.buffer)].tier != tier) continue;
      if (!lives_.contains(life.buffer)) order_.push_back(life.buffer);
      lives_[life.buffer].push_back(life);
    }
    std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
      const Buffer &x = plan.buffers[size_t(a)], &y = plan.buffers[size_t(b)];
      return x.persistent != y.persistent ? x.persistent : x.bytes > y.bytes;
    });
  }

  void expect_as_placed() {
    for (const int32_t id : order_) {
      const Buffer& buffer = plan_.buffers[size_t(id)];
      const int64_t bytes = placed_bytes(buffer), begin = buffer.offset - base_;
      if (buffer.persistent) {
        borders_.insert(borders_.end(), {{begin, begin}, {begin + bytes, begin + bytes}});
      } else {
        ASSERT_EQ(begin, place(id, bytes)) << buffer.name;
      }
      for (const Lifetime& life : lives_[id]) placed_.push_back({life, {begin, begin + bytes}});
    }
  }

 private:
  int64_t place(int32_t id, int64_t bytes) {
    std::vector<Range> taken;
    for (const auto& [there, range] : placed_) {
      for (const Lifetime& life : lives_[id]) {
        if (there.birth <= life.death && life.birth <= there.death) taken.push_back(range);
      }
    }
    std::vector<Range> cut = taken;
    cut.insert(cut.end(), borders_.begin(), borders_.end());
    int64_t top = 0;
    if (!borders_.empty()) {
      if (const int64_t best = tightest(cut, bytes, top); best >= 0) return best;
    }
    const int64_t best = tightest(taken, bytes, top);
    return best >= 0 ? best : top;
  }

  const Plan& plan_;
  int64_t base_ = 0;
  std::vector<int32_t> order_;
  std::map<int32_t, std::vector<Lifetime>> lives_;
  std::vector<std::pair<Lifetime, Range>> placed_;
  std::vector<Range> borders_;
};

/// Each body has transient buffers of its own; the step has the most.
void expect_best_fit(const Plan& plan) {
  for (const Tier tier : {Tier::device, Tier::host})
    Slow(plan, plan.bodies[kStep], tier).expect_as_placed();
}

TEST(Pack, PutsEachBufferIntoTheTightestGapThatItsTimesLeave) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Request request = testing::random_tiered_request(seed);
    request.micro_batches = 1 + int(seed % 3);
    expect_best_fit(testing::tiny_plan(request, testing::random_model(seed)));
  }
}

TEST(Pack, PutsThoseOfManyLayersThereToo) {
  testing::TinyModel model;
  model.gpt2.layers = 150;
  const graph::Graph graph = testing::tiny_training_graph(model, Dtype::bf16);
  for (const Tier home : {Tier::device, Tier::nvme}) {
    Request request{.stage = 3, .ranks = 4, .micro_batches = 2};
    request.compute = Dtype::bf16;
    request.optimizer_home = home;
    expect_best_fit(compile_unproved(request, graph, {}));
  }
}

}  // namespace
}  // namespace zero::plan
