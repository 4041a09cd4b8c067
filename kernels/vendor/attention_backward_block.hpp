#pragma once
/// The gradient of attention as one block of GPU threads computes it, in two launches: the first
/// owns queries and leaves dq and y . dy, the second owns keys and leaves dk and dv.

#include "kernels/vendor/attention_block.hpp"

namespace zero::kernels::vendor {

/// One pair of a query and a key.
struct PairGradient {
  float probability;  ///< after dropout
  float score;        ///< the gradient of the scaled score
};

/// What both launches share: arrays of one head.
template <class T>
struct HeadGradient {
  AttentionLaunch launch;
  AttentionTile tile;
  AttentionMask mask;
  StridedRowsOf<const T> q, k, v, dy, y;
  const float* logsumexp;  ///< [length]
  float* y_dot_dy;         ///< [length]
  T* dqkv;

  ZERO_DEVICE_ONLY HeadGradient(const AttentionLaunch& given, const AttentionGradArrays<T>& arrays,
                                int64_t block)
      : launch(given), tile(given.extents, block), mask(given, tile) {
    const AttentionExtents& extents = launch.extents;
    const int64_t width = launch.width(), packed = tile.offset(extents, 3 * width);
    const int64_t first = tile.first_of_head(extents);
    q = {arrays.qkv + packed, 3 * width, extents.length};
    k = {q.first + width, 3 * width, extents.length};
    v = {q.first + 2 * width, 3 * width, extents.length};
    dy = {arrays.dy + tile.offset(extents, width), width, extents.length};
    y = {arrays.y + tile.offset(extents, width), width, extents.length};
    logsumexp = arrays.logsumexp + first;
    y_dot_dy = static_cast<float*>(arrays.scratch) + first;
    dqkv = arrays.dqkv + packed;
  }

  ZERO_DEVICE_ONLY PairGradient pair(int64_t query, int64_t key, float dot, float dp,
                                     float mean) const {
    if (key > query || query >= launch.extents.length) return {0.0f, 0.0f};
    const float p = exp_f32(dot * launch.scale() - logsumexp[query]);
    const float kept = mask.keeps(query, key) ? mask.multiplier : 0.0f;
    return {p * kept, p * (dp * kept - mean)};
  }
};

template <class T, int kParts, class Block>
ZERO_DEVICE_ONLY void attention_query_gradient(const Block& block, const AttentionLaunch& launch,
                                               const AttentionGradArrays<T>& arrays) {
  const HeadGradient<T> head(launch, arrays, block.index());
  const int64_t d = launch.extents.head_width, first = head.tile.first_row;
  float* const queries = block.shared();
  float* const dys = queries + kTileRows * d;
  float* const keys = dys + kTileRows * d;
  float* const values = keys + kTileRows * (d + 1);
  const int64_t own = first + block.warp() * kOwnRows;
  load_tile(block, head.q, first, d, d, queries);
  load_tile(block, head.dy, first, d, d, dys);
  float mean[kOwnRows];
  for (int r = 0; r < kOwnRows; ++r) {
    float sum = 0.0f;
    for (int64_t j = block.lane(); j < d && own + r < launch.extents.length; j += kWarpLanes)
      sum += float(head.y.first[(own + r) * head.y.ld + j]) *
             float(head.dy.first[(own + r) * head.dy.ld + j]);
    mean[r] = warp_sum(block, sum);
  }
  OwnSums<kParts> dq;
  for (int64_t key = 0; key <= first; key += kTileRows) {
    block.sync();
    load_tile(block, head.k, key, d, d + 1, keys);
    load_tile(block, head.v, key, d, d + 1, values);
    block.sync();
    float dot[kOwnRows], dp[kOwnRows];
    dot_products(block, d, queries, keys, dot);
    dot_products(block, d, dys, values, dp);
    for (int r = 0; r < kOwnRows; ++r)
      dot[r] = head.pair(own + r, key + block.lane(), dot[r], dp[r], mean[r]).score;
    dq.add(block, dot, d, keys, d + 1);
  }
  for (int r = 0; r < kOwnRows; ++r) {
    if (own + r >= launch.extents.length) continue;
    dq.store(block.lane(), r, launch.scale(), d, head.dqkv + (own + r) * head.q.ld);
    if (block.lane() == 0) head.y_dot_dy[own + r] = mean[r];
  }
}

template <class T, int kParts, class Block>
ZERO_DEVICE_ONLY void attention_key_gradient(const Block& block, const AttentionLaunch& launch,
                                             const AttentionGradArrays<T>& arrays) {
  const HeadGradient<T> head(launch, arrays, block.index());
  const int64_t d = launch.extents.head_width, first = head.tile.first_row;
  float* const keys = block.shared();
  float* const values = keys + kTileRows * d;
  float* const queries = values + kTileRows * d;
  float* const dys = queries + kTileRows * (d + 1);
  const int64_t own = first + block.warp() * kOwnRows, width = launch.width();
  load_tile(block, head.k, first, d, d, keys);
  load_tile(block, head.v, first, d, d, values);
  OwnSums<kParts> dk, dv;
  // Earlier queries do not see these keys.
  for (int64_t query = first; query < launch.extents.length; query += kTileRows) {
    block.sync();
    load_tile(block, head.q, query, d, d + 1, queries);
    load_tile(block, head.dy, query, d, d + 1, dys);
    block.sync();
    float dot[kOwnRows], dp[kOwnRows];
    dot_products(block, d, keys, queries, dot);
    dot_products(block, d, values, dys, dp);
    const int64_t mine = query + block.lane();
    const float mean = mine < launch.extents.length ? head.y_dot_dy[mine] : 0.0f;
    for (int r = 0; r < kOwnRows; ++r) {
      const PairGradient pair = head.pair(mine, own + r, dot[r], dp[r], mean);
      dot[r] = pair.score;
      dp[r] = pair.probability;
    }
    dk.add(block, dot, d, queries, d + 1);
    dv.add(block, dp, d, dys, d + 1);
  }
  for (int r = 0; r < kOwnRows; ++r) {
    if (own + r >= launch.extents.length) continue;
    T* const row = head.dqkv + (own + r) * head.q.ld;
    dk.store(block.lane(), r, launch.scale(), d, row + width);
    dv.store(block.lane(), r, 1.0f, d, row + 2 * width);
  }
}

}  // namespace zero::kernels::vendor
