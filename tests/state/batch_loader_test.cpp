// Ranks: 1
#include "zero/state/batch_loader.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "io/data/token_data.hpp"

namespace zero::state {
namespace {

TEST(FirstPosition, GivesEverySampleOfAStepToOneMicroBatch) {
  const BatchSizes batch{.train = 24, .micro = 4, .accumulation = 2};
  std::set<int64_t> firsts;
  for (int64_t j = 0; j < 2; ++j) {
    for (int rank = 0; rank < 3; ++rank)
      firsts.insert(first_position(batch, {.ranks = 3}, 96, j, rank));
  }
  EXPECT_EQ(firsts, (std::set<int64_t>{96, 100, 104, 108, 112, 116}));
}

TEST(FirstPosition, DealsMicroBatchesToTheRanksInTurn) {
  const BatchSizes batch{.train = 24, .micro = 4, .accumulation = 2};
  EXPECT_EQ(first_position(batch, {.ranks = 3}, 0, 0, 0), 0);
  EXPECT_EQ(first_position(batch, {.ranks = 3}, 0, 0, 2), 8);
  EXPECT_EQ(first_position(batch, {.ranks = 3}, 0, 1, 0), 12);
  // The same samples on one rank, one after the other.
  const BatchSizes alone{.train = 24, .micro = 4, .accumulation = 6};
  EXPECT_EQ(first_position(alone, {.ranks = 1}, 0, 3, 0), 12);
}

/// Token i is i.
class Counting : public TokenSource {
 public:
  int64_t tokens() const override { return 200; }
  int64_t vocab_size() const override { return tokens(); }
  std::string format() const override { return "counting"; }
  void read(int64_t first, std::span<int32_t> out) const override {
    std::iota(out.begin(), out.end(), int32_t(first));
  }
  uint64_t fingerprint() const override { return 1; }
};

/// One launch: so many steps after `done` with samples of one token, on two ranks. Adds the samples
/// in the order of their micro-batches; returns what the launch leaves behind.
DataCursor take_steps(const DataCursor& done, int64_t steps, const BatchSizes& batch,
                      const Dataset& data, std::vector<int32_t>& drawn) {
  const BatchLoader loader{.data = data, .batch = batch, .seed = 1, .done = done};
  int64_t step = done.steps;
  while (step < done.steps + steps) {
    const int64_t consumed = loader.inputs(++step).first_sample;
    for (int64_t number = 0; number < 2 * batch.accumulation; ++number) {
      const int64_t first =
          first_position(batch, {.ranks = 2}, consumed, number / 2, int(number % 2));
      for (int64_t i = first; i < first + batch.micro; ++i) {
        drawn.push_back(data.shown(i)[0].ids[0]);
      }
    }
  }
  return loader.before(step + 1);
}

TEST(BatchLoader, SamplesFollowOnWhereTheBatchChangesWithNoneSkippedOrRepeated) {
  const Counting source;
  const TokenWindows data(source,
                          {.tokens = 200, .sequence_length = 1});  // sample i begins with 2 i
  std::vector<int32_t> drawn;
  DataCursor done = take_steps({}, 3, {.train = 8, .micro = 2, .accumulation = 2}, data, drawn);
  EXPECT_EQ(done, (DataCursor{.steps = 3, .samples = 24}));
  done = take_steps(done, 2, {.train = 16, .micro = 4, .accumulation = 2}, data, drawn);
  EXPECT_EQ(done, (DataCursor{.steps = 5, .samples = 56}));
  done = take_steps(done, 2, {.train = 4, .micro = 1, .accumulation = 2}, data, drawn);
  EXPECT_EQ(done, (DataCursor{.steps = 7, .samples = 64}));
  ASSERT_EQ(drawn.size(), 64u);
  for (size_t i = 0; i < drawn.size(); ++i) EXPECT_EQ(drawn[i], int32_t(2 * i));
}

TEST(BatchLoader, HasInputsForABodyThatDrawsNothingAfterAStepOfASmallerBatch) {
  const Counting source;
  const TokenWindows data(source, {.tokens = 200, .sequence_length = 1});
  const BatchSizes batch{.train = 16, .micro = 4, .accumulation = 2};
  const BatchLoader loader{.data = data, .batch = batch, .seed = 1, .done = {1, 4}};
  EXPECT_EQ(loader.inputs(1).first_sample, 0);
  EXPECT_EQ(loader.inputs(2).first_sample, 4);
}

}  // namespace
}  // namespace zero::state
