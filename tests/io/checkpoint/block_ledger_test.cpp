// Ranks: 1
#include "zero/io/checkpoint/block_ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "zero/base/process.hpp"

namespace zero::checkpoint {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// Lists two files, of three blocks and of two.
Manifest two_files() {
  Manifest manifest;
  manifest.files.resize(2);
  manifest.files[0].bytes = 2 * kShortBlockBytes + 100;
  manifest.files[1].bytes = 2 * kShortBlockBytes;
  return manifest;
}

/// As ranks agree on it.
std::vector<int32_t> smallest(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::min(a[i], b[i]);
  return a;
}

TEST(BlockLedgers, GiveWhatNobodyHasReadToAllAlike) {
  BlockLedger first(two_files()), second(two_files());
  first.note(0, 1);
  second.note(0, 1);
  second.note(0, 2);
  const auto owners = BlockLedger::owners(smallest(first.claims(0), second.claims(1)), 2);
  EXPECT_THAT(owners, ElementsAre(0, 0, 1, 0, 1)) << "the first reader; of three, two and one";
  const auto missing = first.missing(owners, 0);
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].file, 0);
  EXPECT_EQ(missing[0].number, 0);
  EXPECT_EQ(missing[1].file, 1);
  EXPECT_EQ(missing[1].number, 0);
  EXPECT_EQ(second.missing(owners, 1).size(), 1u);
}

TEST(BlockLedgers, CountABlockOnceThoughSeveralThreadsReadIt) {
  BlockLedger ledger(two_files());
  EXPECT_EQ(ledger.blocks(), 5);
  in_team(4, [&](int) {
    for (const int64_t block : {0, 1, 2}) ledger.note(0, block);
  });
  EXPECT_EQ(ledger.noted(), 3);
  for (const int64_t block : {0, 1}) ledger.note(1, block);
  EXPECT_EQ(ledger.noted(), ledger.blocks());
  EXPECT_THAT(ledger.claims(7), Each(7));
}

}  // namespace
}  // namespace zero::checkpoint
