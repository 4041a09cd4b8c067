// Ranks: 1

#include "kernels/support/head_norm_groups.hpp"

#include <gtest/gtest.h>

#include "kernels/support/head_norm_rows.hpp"
#include "kernels/support/row_sums.hpp"
#include "tests/support/device_block.hpp"
#include "tests/support/packed_norms.hpp"

namespace zero::kernels {
namespace {

constexpr float kEpsilon = 1e-6f;

template <class Code>
void run_blocks(int64_t blocks, const Code& code) {
  for (int64_t index = blocks - 1; index >= 0; --index) {
    testing::HostBlock(index, Code::kThreads, code.shared_numel(),
                       [&](const testing::HostBlockThread& block) { code(block); })
        .run();
  }
}

/// Norms of heads as a GPU's blocks compute them.
template <class T>
void run_norms(testing::PackedNorms<T>& norms) {
  const HeadNormGroups<T> forward{norms.of, norms.forward_arrays(kEpsilon)};
  run_blocks(forward.blocks(), forward);
  const RowChunks chunks = head_norm_chunks(norms.of);
  run_blocks(chunks.count(), HeadNormGradGroups<T>{norms.of, chunks, norms.backward_arrays()});
  const int64_t width = norms.of.packed.head_width;
  for (const bool is_query : {true, false}) {
    const ColumnTree<T> tree{chunks.count(), 2 * width, width,
                             norms.scratch.data() + (is_query ? 0 : width),
                             is_query ? norms.dquery.data() : norms.dkey.data()};
    for (int64_t group = 0; group < tree.groups(); ++group) tree(HostRow(), group);
  }
}

template <class T>
class HeadNormBlocks : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(HeadNormBlocks, Elements);

TYPED_TEST(HeadNormBlocks, AgreeWithDoubleLoops) {
  for (const PackedHeads& packed :
       {PackedHeads{.rows = 33, .heads = 3, .key_heads = 1, .head_width = 64},
        {.rows = 5, .heads = 4, .key_heads = 2, .head_width = 128},
        {.rows = 3, .heads = 2, .key_heads = 1, .head_width = 96},
        {.rows = 2, .heads = 1, .key_heads = 1, .head_width = 256},
        {.rows = 40, .heads = 2, .key_heads = 2, .head_width = 8}}) {
    testing::PackedNorms<TypeParam> norms({packed}, 1);
    run_norms(norms);
    norms.expect_doubles(kEpsilon);
  }
}

TEST(HeadNormGroupsOfLanes, AreTheFewestThatHoldAHead) {
  EXPECT_EQ(group_lanes(8), 1);
  EXPECT_EQ(group_lanes(64), 8);
  EXPECT_EQ(group_lanes(96), 16);
  EXPECT_EQ(group_lanes(256), 32);
}

}  // namespace
}  // namespace zero::kernels
