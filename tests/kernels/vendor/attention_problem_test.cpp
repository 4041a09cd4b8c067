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
  return {.extents = of, .dtype = dtype, .dropout = 0.1f, .rows = packed_rows(of)};
}

/// Queries that see all of `keys`, with a bias and counts of keys or without.
AttentionExtents to_keys(AttentionExtents shape, int64_t keys, bool biased, bool counted) {
  shape.keys = keys;
  shape.causal = false;
  shape.biased = biased;
  shape.counted = counted;
  return shape;
}

TEST(AttentionProblem, StridesLeadToWhereRowsHaveTheirHeads) {
  const AttentionExtents shape = extents(2, 3, 0, 4);
  for (int64_t parts : {1, 2, 3})
    for (int64_t rows : {5, 7}) {
      const HeadStrides stride = head_strides(shape, rows, parts * 3 * 4);
      int64_t expected = 0;
      for (int64_t sample = 0; sample < 2; ++sample)
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t part = 0; part < parts; ++part)
            for (int64_t i = 0; i < 3 * 4; ++i)
              EXPECT_EQ(sample * stride.sample + row * stride.row + part * 3 * 4 +
                            i / 4 * stride.head + i % 4,
                        expected++);
    }
}

TEST(AttentionProblem, RowsOfQueriesAndOfKeysHaveStridesOfTheirOwn) {
  const AttentionExtents shape = extents(2, 3, 5, 4);
  EXPECT_EQ(packed_rows(shape), (OperandRows{36, 36}));
  EXPECT_EQ(paired_rows(shape), (OperandRows{12, 24}));
  const std::vector<float> memory(1000);
  const auto packed = packed_attention<float>(shape, memory.data());
  const auto paired = paired_attention<float>(shape, memory.data(), memory.data());
  EXPECT_EQ(packed_rows(shape), (OperandRows{packed.q_stride, packed.kv_stride}));
  EXPECT_EQ(paired_rows(shape), (OperandRows{paired.q_stride, paired.kv_stride}));
}

TEST(AttentionProblem, RowsOfFewerHeadsOfKeysAreNarrower) {
  AttentionExtents shape = extents(2, 6, 5, 4);
  shape.key_heads = 2;
  EXPECT_EQ(packed_rows(shape), (OperandRows{(6 + 2 * 2) * 4, (6 + 2 * 2) * 4}));
  EXPECT_EQ(paired_rows(shape), (OperandRows{6 * 4, 2 * 2 * 4}));
  const std::vector<float> memory(1000);
  const auto packed = packed_attention<float>(shape, memory.data());
  EXPECT_EQ(packed.k - packed.q, 6 * 4);
  EXPECT_EQ(packed.v - packed.k, 2 * 4);
  EXPECT_EQ(packed_rows(shape), (OperandRows{packed.q_stride, packed.kv_stride}));
  const auto paired = paired_attention<float>(shape, memory.data(), memory.data());
  EXPECT_EQ(paired.v - paired.k, 2 * 4);
  EXPECT_EQ(paired_rows(shape), (OperandRows{paired.q_stride, paired.kv_stride}));
}

TEST(AttentionProblem, BoundHoldsGradientsOfKeysOfHeadsThatShareThem) {
  AttentionExtents shape = extents(2, 6, 128, 64);
  const int64_t all = library_workspace_bytes(shape);
  shape.key_heads = 6;
  EXPECT_EQ(library_workspace_bytes(shape), all);
  shape.key_heads = 2;
  EXPECT_EQ(library_workspace_bytes(shape) - all, 2 * 6 * 2 * 128 * 64 * 4);
}

struct Asked {
  AttentionExtents extents;
  int64_t bytes;
};

TEST(AttentionProblem, BoundHoldsWhatTheLibraryWasSeenToAskFor) {
  // Workspaces of cuDNN 9.19's deterministic gradient for Hopper.
  const std::vector<Asked> seen{{extents(16, 25, 1024, 64), 840499456},
                                {extents(64, 12, 1024, 64), 1613758720},
                                {extents(4, 16, 1024, 104), 134480128},
                                {extents(1, 2, 8192, 64), 268501248},
                                {extents(1, 2, 1024, 256), 4202752},
                                {extents(1, 2, 1030, 16), 5022000},
                                {extents(3, 3, 300, 24), 2222896},
                                {extents(1, 2, 200, 8), 264000},
                                {extents(2, 3, 37, 16), 99448},
                                {extents(1, 2, 2, 8), 33040},
                                {to_keys(extents(16, 16, 114, 64), 512, false, true), 33671424},
                                {to_keys(extents(2, 2, 300, 16), 601, true, true), 1643456},
                                {to_keys(extents(3, 2, 37, 40), 141, true, true), 197752},
                                {to_keys(extents(2, 4, 33, 8), 2, true, true), 132384},
                                // Its gradient in any order, which keeps dq in fp32.
                                {to_keys(extents(2, 4, 512, 128), 32, false, true), 2113792}};
  for (const Asked& asked : seen) {
    const int64_t bound = library_workspace_bytes(asked.extents);
    EXPECT_LE(asked.bytes, bound);
    EXPECT_GE(asked.bytes, bound - (int64_t(1) << 20));
  }
}

TEST(AttentionProblem, PiecesOfScratchDoNotOverlap) {
  for (const AttentionExtents& shape :
       {extents(2, 3, 5, 104), extents(1, 1, 2, 8), to_keys(extents(33, 3, 5, 8), 7, true, true)}) {
    const AttentionScratch at = library_scratch(shape);
    const int64_t lengths = tells_lengths(shape) ? 4 * shape.samples : 0;
    const int64_t scores = shape.biased ? 2 * shape.heads * shape.length * shape.key_length() : 0;
    const std::vector<std::pair<int64_t, int64_t>> pieces{
        {at.dropout, 16},
        {at.queries, lengths},
        {at.keys, lengths},
        {at.bias, scores},
        {at.bias_gradient, shape.samples * scores},
        {at.workspace, library_workspace_bytes(shape)},
        {at.bytes, 0}};
    for (size_t i = 0; i + 1 < pieces.size(); ++i) {
      EXPECT_EQ(pieces[i].first % kExtentAlignBytes, 0);
      EXPECT_LE(pieces[i].first + pieces[i].second, pieces[i + 1].first);
    }
  }
}

/// Nothing is asked for that a problem does not use.
TEST(AttentionProblem, ScratchHoldsScoresWhereThereIsABias) {
  const AttentionExtents plain = to_keys(extents(4, 2, 128, 64), 256, false, false);
  const AttentionExtents biased = to_keys(extents(4, 2, 128, 64), 256, true, false);
  EXPECT_EQ(library_scratch(biased).bytes - library_scratch(plain).bytes,
            (1 + 4) * 2 * 2 * 128 * 256);
  EXPECT_EQ(score_count(biased, 1), 2 * 128 * 256);
}

TEST(AttentionProblem, LengthsAreToldButForCausalSelfAttention) {
  AttentionExtents shape = extents(4, 2, 128, 64);
  EXPECT_FALSE(tells_lengths(shape));
  shape.biased = true;
  EXPECT_TRUE(tells_lengths(shape)) << "T5's decoder";
  EXPECT_TRUE(tells_lengths(to_keys(extents(4, 2, 128, 64), 256, false, false)));
  EXPECT_TRUE(tells_lengths(to_keys(extents(4, 2, 128, 64), 256, false, true)));
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
  for (const bool biased : {false, true})
    for (const bool counted : {false, true})
      EXPECT_EQ(reason_for_own(problem(to_keys(extents(2, 2, 64, 40), 90, biased, counted))), "");
  EXPECT_EQ(reason_for_own(problem(to_keys(extents(2, 2, 1, 64), 90, false, true))),
            "samples of one token");
  EXPECT_EQ(reason_for_own(problem(extents(1, 1, 65408, 64))), "");
  EXPECT_NE(reason_for_own(problem(extents(1, 1, 65536, 64))), "");
  // Beside the library's workspace a bias has its scores, and those of its gradient.
  EXPECT_EQ(reason_for_own(problem(to_keys(extents(1, 1, 32768, 64), 0, true, false))), "");
  EXPECT_NE(reason_for_own(problem(to_keys(extents(1, 1, 40960, 64), 0, true, false))), "");
}

TEST(AttentionProblem, IsOursUnderAWindowACapOrFirstKeys) {
  AttentionExtents shape = extents(2, 6, 128, 64);
  shape.key_heads = 2;
  EXPECT_EQ(reason_for_own(problem(shape)), "");
  shape.window = 128;
  EXPECT_EQ(reason_for_own(problem(shape)), "") << "all keys";
  shape.window = 127;
  EXPECT_EQ(reason_for_own(problem(shape)), "a window of keys");
  shape.window = 0;
  shape.cap = 50;
  EXPECT_EQ(reason_for_own(problem(shape)), "a cap on scores");
  shape.cap = 0;
  shape.ranged = true;
  EXPECT_EQ(reason_for_own(problem(shape)), "documents in a row");
  EXPECT_EQ(either_scratch_bytes(shape, Dtype::bf16), own_scratch_bytes(shape));
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
  other = one;
  other.rows.kv = 2 * 300;
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
