// Ranks: 1

#include "kernels/vendor/attention_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace zero::kernels::vendor {
namespace {

AttentionExtents extents(int64_t samples, int64_t heads, int64_t length, int64_t head_width) {
  return {.samples = samples, .length = length, .heads = heads, .head_width = head_width};
}

AttentionProblem problem(const AttentionExtents& of, Dtype dtype = Dtype::bf16) {
  return {.extents = of, .dtype = dtype, .dropout = 0.1f};
}

TEST(AttentionProblem, StridesLeadToWhereRowsHaveTheirHeads) {
  const AttentionExtents shape = extents(2, 3, 5, 4);
  for (int64_t parts : {1, 3}) {
    const HeadStrides stride = head_strides(shape, parts);
    int64_t expected = 0;
    for (int64_t sample = 0; sample < 2; ++sample)
      for (int64_t row = 0; row < 5; ++row)
        for (int64_t part = 0; part < parts; ++part)
          for (int64_t head = 0; head < 3; ++head)
            for (int64_t j = 0; j < 4; ++j)
              EXPECT_EQ(
                  sample * stride.sample + row * stride.row + part * 3 * 4 + head * stride.head + j,
                  expected++);
    EXPECT_EQ(head_count(shape, parts) * 4, expected);
  }
}

struct Asked {
  AttentionExtents extents;
  int64_t bytes;
};

TEST(AttentionProblem, BoundHoldsWhatTheLibraryWasSeenToAskFor) {
  // Workspaces of cuDNN 9.19's deterministic gradient for Hopper.
  const std::vector<Asked> seen{
      {extents(16, 25, 1024, 64), 840499456}, {extents(64, 12, 1024, 64), 1613758720},
      {extents(4, 16, 1024, 104), 134480128}, {extents(1, 2, 8192, 64), 268501248},
      {extents(1, 2, 1024, 256), 4202752},    {extents(1, 2, 1030, 16), 5022000},
      {extents(3, 3, 300, 24), 2222896},      {extents(1, 2, 200, 8), 264000},
      {extents(2, 3, 37, 16), 99448},         {extents(1, 2, 2, 8), 33040}};
  for (const Asked& asked : seen) {
    const int64_t bound = library_workspace_bytes(asked.extents);
    EXPECT_LE(asked.bytes, bound);
    EXPECT_GE(asked.bytes, bound - (int64_t(1) << 20));
  }
}

TEST(AttentionProblem, PiecesOfScratchDoNotOverlap) {
  for (const AttentionExtents& shape : {extents(2, 3, 5, 104), extents(1, 1, 2, 8)}) {
    const AttentionScratch at = library_scratch(shape);
    const std::vector<std::pair<int64_t, int64_t>> pieces{
        {at.dropout, 16}, {at.workspace, library_workspace_bytes(shape)}, {at.bytes, 0}};
    for (size_t i = 0; i + 1 < pieces.size(); ++i) {
      EXPECT_EQ(pieces[i].first % kExtentAlignBytes, 0);
      EXPECT_LE(pieces[i].first + pieces[i].second, pieces[i + 1].first);
    }
  }
}

TEST(AttentionProblem, ScoresAreDividedByTheRootOfARealHeadsWidth) {
  AttentionExtents wide = extents(1, 1, 2, 16);
  EXPECT_EQ(wide.divisor(), 4.0f);
  wide.real_width = 9;
  EXPECT_EQ(wide.divisor(), 3.0f);
  wide.divide_by = 1;
  EXPECT_EQ(wide.divisor(), 1.0f);
}

TEST(AttentionProblem, IsOursWhereTheLibraryIsNotAsked) {
  EXPECT_EQ(reason_for_own(problem(extents(16, 25, 1024, 64))), "");
  EXPECT_EQ(reason_for_own(problem(extents(4, 16, 1024, 104), Dtype::f16)), "");
  EXPECT_EQ(reason_for_own(problem(extents(4, 16, 1024, 100), Dtype::f16)),
            "heads of 100, no multiple of 8");
  EXPECT_EQ(reason_for_own(problem(extents(16, 25, 1024, 64), Dtype::f32)), "fp32");
  EXPECT_EQ(reason_for_own(problem(extents(1, 2, 1, 8))), "samples of one token");
  EXPECT_EQ(reason_for_own(problem(extents(1, 2, 2, 256))), "");
  EXPECT_EQ(reason_for_own(problem(extents(1, 2, 2, 264))), "heads of more than 256");
  AttentionExtents other = extents(2, 2, 64, 64);
  other.keys = 64;
  EXPECT_EQ(reason_for_own(problem(other)), "");
  other.causal = false;
  EXPECT_EQ(reason_for_own(problem(other)), "attention to all keys");
  other.counted = true;
  EXPECT_EQ(reason_for_own(problem(other)), "padding");
  other.biased = true;
  EXPECT_EQ(reason_for_own(problem(other)), "a bias of the scores");
  EXPECT_EQ(reason_for_own(problem(extents(1, 1, 65408, 64))), "");
  EXPECT_NE(reason_for_own(problem(extents(1, 1, 65536, 64))), "");
}

TEST(AttentionProblem, ScratchHoldsForEitherWay) {
  const AttentionExtents shape = extents(2, 3, 37, 104), one = extents(40000, 3, 1, 8);
  EXPECT_EQ(either_scratch_bytes(shape, Dtype::f32), own_scratch_bytes(shape));
  EXPECT_EQ(own_scratch_bytes(shape), 2 * 3 * 37 * 4);
  AttentionExtents biased = shape;
  biased.biased = true;  // two tiles of queries touch 37 + 31 diagonals each
  EXPECT_EQ(own_scratch_bytes(biased), 2 * 3 * (37 + 2 * (37 + 31)) * 4);
  EXPECT_EQ(either_scratch_bytes(shape, Dtype::bf16), library_scratch(shape).bytes);
  EXPECT_EQ(either_scratch_bytes(one, Dtype::bf16), own_scratch_bytes(one));
}

TEST(AttentionProblem, DiffersInWhateverAPlanHoldsFor) {
  const AttentionProblem one = problem(extents(2, 3, 37, 100));
  AttentionProblem other = one;
  EXPECT_EQ(one, other);
  other.extents.samples = 3;
  EXPECT_FALSE(one == other);
  other = one;
  other.extents.real_width = 99;
  EXPECT_FALSE(one == other);
  other = one;
  other.dtype = Dtype::f16;
  EXPECT_FALSE(one == other);
  other = one;
  other.dropout = 0.0f;
  EXPECT_FALSE(one == other);
  other = one;
  other.deterministic = false;
  EXPECT_FALSE(one == other);
}

constexpr int64_t kMicroBatches = 8, kSamples = 2;

/// By global micro-batch, as the ranks draw them: micro-batch j of rank r is number j N + r.
std::vector<AttentionDropout> drawn_on(int64_t ranks, int64_t first_sample, uint32_t site) {
  std::vector<AttentionDropout> drawn(kMicroBatches);
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t j = 0; j < kMicroBatches / ranks; ++j)
      drawn[size_t(j * ranks + rank)] =
          attention_dropout(77, site, first_sample + (j * ranks + rank) * kSamples);
  return drawn;
}

TEST(AttentionDropout, IsTheSameOnAnyNumberOfRanks) {
  EXPECT_EQ(drawn_on(1, 48, 3), drawn_on(2, 48, 3));
  EXPECT_EQ(drawn_on(1, 48, 3), drawn_on(4, 48, 3));
  EXPECT_NE(drawn_on(1, 48, 3), drawn_on(1, 64, 3));
  EXPECT_NE(attention_dropout(77, 3, 48), attention_dropout(78, 3, 48));
}

TEST(AttentionDropout, NeverComesTwice) {
  std::set<std::pair<int64_t, int64_t>> all;
  std::set<int64_t> seeds;
  for (int64_t step = 0; step < 100; ++step)
    for (uint32_t layer = 0; layer < 96; ++layer)
      for (const AttentionDropout& one :
           drawn_on(1, step * kMicroBatches * kSamples + (int64_t(1) << 33), layer)) {
        all.insert({one.seed, one.offset});
        seeds.insert(one.seed);
      }
  EXPECT_EQ(all.size(), size_t(100 * 96 * kMicroBatches));
  EXPECT_EQ(seeds.size(), all.size());
}

TEST(AttentionDropout, IsWhatTheLibraryCanRead) {
  int64_t most_offset = 0;
  for (int64_t sample = 0; sample < 1000; ++sample) {
    const AttentionDropout one = attention_dropout(~uint64_t(0), 1, sample);
    EXPECT_GE(one.seed, 0);
    EXPECT_GE(one.offset, 0);
    EXPECT_EQ(one.offset % 16, 0);
    most_offset = std::max(most_offset, one.offset);
  }
  EXPECT_LT(most_offset, int64_t(1) << 31);
  EXPECT_GT(most_offset, int64_t(1) << 30);
}

}  // namespace
}  // namespace zero::kernels::vendor
