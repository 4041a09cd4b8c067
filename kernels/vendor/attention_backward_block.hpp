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
  ScoreCap cap;

  ZERO_DEVICE_ONLY HeadGradient(const AttentionLaunch& given, const AttentionGradArrays<T>& arrays,
                                Own own, int64_t block)
      : launch(given),
        tile(given.extents, arrays.in, own, block),
        mask(given, tile),
        bias(given.extents, arrays.in, tile),
        cap(given.cap()) {
    const AttentionInputs<T>& in = arrays.in;
    const int64_t first_key = tile.of_keys(launch.extents, in.kv_stride);
    k = {in.k + first_key, in.kv_stride, tile.keys};
    v = {in.v + first_key, in.kv_stride, tile.keys};
    dk = arrays.dk + first_key;
    dv = arrays.dv + first_key;
    take_queries(arrays, tile.head);
  }

  /// Turns to another head of queries of the same keys.
  ZERO_DEVICE_ONLY void take_queries(const AttentionGradArrays<T>& arrays, int64_t head) {
    tile.head = head;
    const AttentionExtents& extents = launch.extents;
    const AttentionInputs<T>& in = arrays.in;
    const int64_t width = launch.width(), first = tile.first_of_head(extents);
    const int64_t first_query = tile.of_queries(extents, in.q_stride);
    mask = AttentionMask(launch, tile);
    bias = AttentionBias(extents, in, tile);
    q = {in.q + first_query, in.q_stride, extents.length};
    dy = {arrays.dy + tile.of_queries(extents, width), width, extents.length};
    y = {arrays.y + tile.of_queries(extents, width), width, extents.length};
    logsumexp = arrays.logsumexp + first;
    y_dot_dy = static_cast<float*>(arrays.scratch) + first;
    dq = arrays.dq + first_query;
  }

  ZERO_DEVICE_ONLY PairGradient pair(int64_t query, int64_t key, float dot, float dp,
                                     float mean) const {
    if (query >= launch.extents.length || !tile.sees(query, key)) return {0.0f, 0.0f};
    const float score = launch.score(dot);
    const float p = exp_f32(score + bias(query, key) - logsumexp[query]);
    const float kept = mask.keeps(query, key) ? mask.multiplier : 0.0f;
    return {p * kept, p * (dp * kept - mean)};
  }
  /// Returns the factor that the cap gives to a gradient of a score, by the product that made it.
  ZERO_DEVICE_ONLY float slope(float dot) const { return cap.acts() ? cap.slope(cap(dot)) : 1.0f; }
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
  for (int64_t key = head.tile.begin_of_keys(); key < head.tile.end_of_keys(); key += kTileRows) {
    block.sync();
    load_tile(block, head.k, key, d, d + 1, keys);
    load_tile(block, head.v, key, d, d + 1, values);
    block.sync();
    float dot[kOwnRows], dp[kOwnRows];
    dot_products(block, d, queries, keys, dot);
    dot_products(block, d, dys, values, dp);
    float slope[kOwnRows];
    for (int r = 0; r < kOwnRows; ++r) {
      slope[r] = head.slope(dot[r]);
      dot[r] = head.pair(own + r, key + block.lane(), dot[r], dp[r], mean[r]).score;
    }
    diagonals.add(block, key, dot, scores);
    for (int r = 0; r < kOwnRows; ++r) dot[r] *= slope[r];
    dq.add(block, dot, d, keys, d + 1);
  }
  for (int r = 0; r < kOwnRows; ++r) {
    if (own + r >= launch.extents.length) continue;
    dq.store(block.lane(), r, launch.scale(), d, head.dq + (own + r) * head.q.ld);
    if (block.lane() == 0) head.y_dot_dy[own + r] = mean[r];
  }
}

/// The shared memory of a block that owns keys.
struct KeyTiles {
  float *keys, *values, *queries, *dys;

  ZERO_DEVICE_ONLY KeyTiles(float* shared, int64_t d)
      : keys(shared),
        values(keys + kTileRows * d),
        queries(values + kTileRows * d),
        dys(queries + kTileRows * (d + 1)) {}
};

template <int kParts>
struct KeySums {
  OwnSums<kParts> dk, dv;

  /// Adds what the tile of queries from `query` on gives.
  template <class T, class Block>
  ZERO_DEVICE_ONLY void add(const Block& block, const HeadGradient<T>& head, int64_t query,
                            const KeyTiles& tiles) {
    const AttentionExtents& extents = head.launch.extents;
    const int64_t d = extents.head_width, mine = query + block.lane();
    const int64_t own = head.tile.first_row + block.warp() * kOwnRows;
    block.sync();
    load_tile(block, head.q, query, d, d + 1, tiles.queries);
    load_tile(block, head.dy, query, d, d + 1, tiles.dys);
    block.sync();
    float dot[kOwnRows], dp[kOwnRows];
    dot_products(block, d, tiles.keys, tiles.queries, dot);
    dot_products(block, d, tiles.values, tiles.dys, dp);
    const float mean = mine < extents.length ? head.y_dot_dy[mine] : 0.0f;
    for (int r = 0; r < kOwnRows; ++r) {
      const float slope = head.slope(dot[r]);
      const PairGradient pair = head.pair(mine, own + r, dot[r], dp[r], mean);
      dot[r] = pair.score * slope;
      dp[r] = pair.probability;
    }
    dk.add(block, dot, d, tiles.queries, d + 1);
    dv.add(block, dp, d, tiles.dys, d + 1);
  }
};

template <class T, int kParts, class Block>
ZERO_DEVICE_ONLY void attention_key_gradient(const Block& block, const AttentionLaunch& launch,
                                             const AttentionGradArrays<T>& arrays) {
  HeadGradient<T> head(launch, arrays, Own::keys, block.index());
  const AttentionExtents& extents = launch.extents;
  const int64_t d = extents.head_width, first = head.tile.first_row;
  const KeyTiles tiles(block.shared(), d);
  const int64_t own = first + block.warp() * kOwnRows;
  load_tile(block, head.k, first, d, d, tiles.keys);
  load_tile(block, head.v, first, d, d, tiles.values);
  KeySums<kParts> sums;
  // Earlier queries do not see these keys, and no query sees padding.
  const int64_t end = first < head.tile.keys ? extents.length : 0;
  const int64_t first_head = head.tile.head;
  for (int64_t of = 0; of < extents.queries_of_key(); ++of) {
    head.take_queries(arrays, first_head + of);
    for (int64_t query = head.tile.causal ? first : 0; query < end; query += kTileRows) {
      // Later queries begin behind these keys, too.
      if (head.tile.causal && head.tile.begin(query) >= first + kTileRows) break;
      sums.add(block, head, query, tiles);
    }
  }
  for (int r = 0; r < kOwnRows; ++r) {
    if (own + r >= extents.key_length()) continue;
    sums.dk.store(block.lane(), r, launch.scale(), d, head.dk + (own + r) * head.k.ld);
    sums.dv.store(block.lane(), r, 1.0f, d, head.dv + (own + r) * head.v.ld);
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
