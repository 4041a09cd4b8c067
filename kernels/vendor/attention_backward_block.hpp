#pragma once
/// The gradient of attention as one block of GPU threads computes it, in two launches. The first
/// owns queries and writes dq and y . dy; the second owns keys and writes dk and dv. With a bias,
/// the first also writes the sums of its tile's diagonals, and a third adds them up.

#include "kernels/vendor/attention_block.hpp"

namespace zero::kernels::vendor {

/// The gradient of a pair of a query and a key.
struct PairGradient {
  float probability;  ///< probability after dropout
  float score;        ///< gradient of the scaled score
};

/// The arrays of one head, for both launches.
template <class T>
struct HeadGradient {
  AttentionLaunch launch;
  AttentionTile tile;
  AttentionMask mask;
  AttentionBias bias;
  StridedRowsOf<const T> q, k, v, dy, y;
  const float* logsumexp;  ///< [length]
  float* y_dot_dy;         ///< [length]
  T *dq, *dk, *dv;

  ZERO_DEVICE_ONLY HeadGradient(const AttentionLaunch& given, const AttentionGradArrays<T>& arrays,
                                Own own, int64_t block)
      : launch(given),
        tile(given.extents, arrays.in, own, block),
        mask(given, tile),
        bias(given.extents, arrays.in, tile) {
    const AttentionExtents& extents = launch.extents;
    const AttentionInputs<T>& in = arrays.in;
    const int64_t width = launch.width(), first = tile.first_of_head(extents);
    const int64_t first_query = tile.of_queries(extents, in.q_stride);
    const int64_t first_key = tile.of_keys(extents, in.kv_stride);
    q = {in.q + first_query, in.q_stride, extents.length};
    k = {in.k + first_key, in.kv_stride, tile.keys};
    v = {in.v + first_key, in.kv_stride, tile.keys};
    dy = {arrays.dy + tile.of_queries(extents, width), width, extents.length};
    y = {arrays.y + tile.of_queries(extents, width), width, extents.length};
    logsumexp = arrays.logsumexp + first;
    y_dot_dy = static_cast<float*>(arrays.scratch) + first;
    dq = arrays.dq + first_query;
    dk = arrays.dk + first_key;
    dv = arrays.dv + first_key;
  }

  ZERO_DEVICE_ONLY PairGradient pair(int64_t query, int64_t key, float dot, float dp,
                                     float mean) const {
    if (!tile.sees(query, key) || query >= launch.extents.length) return {0.0f, 0.0f};
    const float p = exp_f32(dot * launch.scale() + bias(query, key) - logsumexp[query]);
    const float kept = mask.keeps(query, key) ? mask.multiplier : 0.0f;
    return {p * kept, p * (dp * kept - mean)};
  }
};

/// The bias gradient from the queries of one tile: a sum for each diagonal that they touch, those
/// of the last query first. [samples, heads, tiles of queries, diagonals of a tile]
struct TileDiagonals {
  float* sums;  ///< null: there is no bias
  int64_t count;

  ZERO_HOST_DEVICE static constexpr int64_t count_of(const AttentionExtents& extents) {
    return extents.key_length() + kTileRows - 1;
  }

  template <class T>
  ZERO_DEVICE_ONLY TileDiagonals(const AttentionExtents& extents,
                                 const AttentionGradArrays<T>& arrays, int64_t tile)
      : sums(nullptr), count(count_of(extents)) {
    if (arrays.dbias) sums = first(extents, arrays.scratch) + tile * count;
  }
  /// Returns the first sum, behind y . dy of all rows.
  ZERO_DEVICE_ONLY static float* first(const AttentionExtents& extents, void* scratch) {
    return static_cast<float*>(scratch) + extents.samples * extents.heads * extents.length;
  }

  template <class Block>
  ZERO_DEVICE_ONLY void clear(const Block& block) const {
    if (!sums) return;
    for (int64_t i = block.thread(); i < count; i += kAttentionThreads) sums[i] = 0.0f;
  }
  /// Adds the tile of scores that begins at `key`: score[r] of each lane for the warp's own rows.
  /// A diagonal has one thread, which adds its scores from the first query on.
  template <class Block>
  ZERO_DEVICE_ONLY void add(const Block& block, int64_t key, const float (&score)[kOwnRows],
                            float* scores) const {
    if (!sums) return;
    for (int r = 0; r < kOwnRows; ++r)
      scores[(block.warp() * kOwnRows + r) * (kTileRows + 1) + block.lane()] = score[r];
    block.sync();
    const int diagonal = block.thread() - (kTileRows - 1);
    // Behind the tile's last diagonal lie another tile's, to which its block may be adding.
    if (diagonal >= kTileRows || key + block.thread() >= count) return;
    float sum = 0.0f;
    for (int row = diagonal < 0 ? -diagonal : 0; row < kTileRows && row + diagonal < kTileRows;
         ++row)
      sum += scores[row * (kTileRows + 1) + row + diagonal];
    sums[key + block.thread()] += sum;
  }
};

template <class T, int kParts, class Block>
ZERO_DEVICE_ONLY void attention_query_gradient(const Block& block, const AttentionLaunch& launch,
                                               const AttentionGradArrays<T>& arrays) {
  const HeadGradient<T> head(launch, arrays, Own::queries, block.index());
  const TileDiagonals diagonals(launch.extents, arrays, block.index());
  const int64_t d = launch.extents.head_width, first = head.tile.first_row;
  float* const queries = block.shared();
  float* const dys = queries + kTileRows * d;
  float* const keys = dys + kTileRows * d;
  float* const values = keys + kTileRows * (d + 1);
  float* const scores = values + kTileRows * (d + 1);
  const int64_t own = first + block.warp() * kOwnRows;
  diagonals.clear(block);
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
  for (int64_t key = 0; key < head.tile.end_of_keys(); key += kTileRows) {
    block.sync();
    load_tile(block, head.k, key, d, d + 1, keys);
    load_tile(block, head.v, key, d, d + 1, values);
    block.sync();
    float dot[kOwnRows], dp[kOwnRows];
    dot_products(block, d, queries, keys, dot);
    dot_products(block, d, dys, values, dp);
    for (int r = 0; r < kOwnRows; ++r)
      dot[r] = head.pair(own + r, key + block.lane(), dot[r], dp[r], mean[r]).score;
    diagonals.add(block, key, dot, scores);
    dq.add(block, dot, d, keys, d + 1);
  }
  for (int r = 0; r < kOwnRows; ++r) {
    if (own + r >= launch.extents.length) continue;
    dq.store(block.lane(), r, launch.scale(), d, head.dq + (own + r) * head.q.ld);
    if (block.lane() == 0) head.y_dot_dy[own + r] = mean[r];
  }
}

template <class T, int kParts, class Block>
ZERO_DEVICE_ONLY void attention_key_gradient(const Block& block, const AttentionLaunch& launch,
                                             const AttentionGradArrays<T>& arrays) {
  const HeadGradient<T> head(launch, arrays, Own::keys, block.index());
  const int64_t d = launch.extents.head_width, first = head.tile.first_row;
  float* const keys = block.shared();
  float* const values = keys + kTileRows * d;
  float* const queries = values + kTileRows * d;
  float* const dys = queries + kTileRows * (d + 1);
  const int64_t own = first + block.warp() * kOwnRows;
  load_tile(block, head.k, first, d, d, keys);
  load_tile(block, head.v, first, d, d, values);
  OwnSums<kParts> dk, dv;
  // Earlier queries do not see these keys, and no query sees padding.
  const int64_t end = first < head.tile.keys ? launch.extents.length : 0;
  for (int64_t query = head.tile.causal ? first : 0; query < end; query += kTileRows) {
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
    if (own + r >= launch.extents.key_length()) continue;
    dk.store(block.lane(), r, launch.scale(), d, head.dk + (own + r) * head.k.ld);
    dv.store(block.lane(), r, 1.0f, d, head.dv + (own + r) * head.v.ld);
  }
}

/// Returns the blocks of the launch that adds up a bias gradient: a thread for each element.
constexpr int64_t bias_gradient_blocks(const AttentionExtents& extents) {
  return ceil_div<int64_t>(extents.heads * extents.diagonals(), kAttentionThreads);
}

/// Adds the bias gradient over samples, and over the tiles of queries of each, in their order.
template <class T, class Block>
ZERO_DEVICE_ONLY void attention_bias_gradient(const Block& block, const AttentionLaunch& launch,
                                              const AttentionGradArrays<T>& arrays) {
  const AttentionExtents& extents = launch.extents;
  const int64_t element = block.index() * kAttentionThreads + block.thread();
  const int64_t head = element / extents.diagonals();
  if (head >= extents.heads) return;
  const int64_t tiles = attention_tiles(extents, Own::queries);
  const int64_t count = TileDiagonals::count_of(extents);
  const float* const sums = TileDiagonals::first(extents, arrays.scratch);
  // The diagonal of the tile's first query and key 0 is the tile's diagonal kTileRows - 1.
  const int64_t relative = element % extents.diagonals() - (extents.length - 1);
  float sum = 0.0f;
  for (int64_t sample = 0; sample < extents.samples; ++sample)
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t at = kTileRows - 1 + relative + tile * kTileRows;
      const int64_t first = ((sample * extents.heads + head) * tiles + tile) * count;
      if (at >= 0 && at < count) sum += sums[first + at];
    }
  arrays.dbias[element] = sum;
}

}  // namespace zero::kernels::vendor
