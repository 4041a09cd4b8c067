#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/support/host_team.hpp"
#include "kernels/support/math.hpp"
#include "kernels/vendor/host/attention.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace vendor {
namespace {

/// Keys of a tile: two tiles in fp32 and two in the compute type share a 1 MiB cache.
constexpr int64_t kKeys = 256;

/// Tiles lie transposed, [keys, queries]: then every product but one reads its large operand as it
/// lies, and the statistics of the queries run along the rows.
template <class C>
struct BackwardScratch {
  C *q, *k, *v, *dy;      ///< [length, head_width]
  float *dq, *dk, *dv;    ///< [length, head_width]
  float* y_dot_dy;        ///< [length]
  float* log2_sum;        ///< [length], logsumexp in units of log 2
  float *scores, *dp;     ///< [kKeys, kQueries]
  C *probabilities, *ds;  ///< [kKeys, kQueries]

  BackwardScratch(const AttentionExtents& extents, Slice& slice) {
    const int64_t numel = extents.length * extents.head_width;
    for (C** array : {&q, &k, &v, &dy}) *array = slice.take<C>(numel);
    for (float** array : {&dq, &dk, &dv}) *array = slice.take<float>(numel);
    y_dot_dy = slice.take<float>(extents.length);
    log2_sum = slice.take<float>(extents.length);
    scores = slice.take<float>(kQueries * kKeys);
    dp = slice.take<float>(kQueries * kKeys);
    if constexpr (std::is_same_v<C, float>) {  // in place: a tile less of cache
      probabilities = scores;
      ds = dp;
    } else {
      probabilities = slice.take<C>(kQueries * kKeys);
      ds = slice.take<C>(kQueries * kKeys);
    }
  }
};

template <class T, class C>
struct BackwardHead {
  Head head;
  AttentionGradArrays<T> arrays;
  BackwardScratch<C> scratch;
  HeadMask mask;
  bool dropout;
  float scale;
};

/// multiplier[i][c] of key `key` + i and query tile.query + c: 0 or 1 / (1 - p).
void mask_four_keys(const HeadMask& mask, const Tile& tile, int64_t key,
                    float (&multiplier)[4][kQueries]) {
  for (int64_t c = 0; c < tile.queries; c += WordLanes::kLanes) {
    const WordLanes words = mask.words_of_queries(tile.query + c, key / 4);
    for (int i = 0; i < 4; ++i)
      for (int l = 0; l < WordLanes::kLanes; ++l)
        multiplier[i][c + l] = words.word[i][l] >= mask.threshold ? mask.multiplier : 0.0f;
  }
}

struct GradientRow {
  const float *scores, *dp, *log2_sum, *y_dot_dy, *multiplier;
  float log2_scale;
};

template <bool kDropout, class C>
void gradient_row(const GradientRow& row, int64_t queries, C* probabilities, C* ds) {
#pragma omp simd
  for (int64_t c = 0; c < queries; ++c) {
    const float p = exp2_f32(std::fma(row.log2_scale, row.scores[c], -row.log2_sum[c]));
    const float kept = kDropout ? row.multiplier[c] : 1.0f;
    assign(probabilities[c], p * kept);
    assign(ds[c], p * (row.dp[c] * kept - row.y_dot_dy[c]));
  }
}

/// Probabilities and the gradient of the scaled scores of one tile.
template <class T, class C>
void gradient_tile(const BackwardHead<T, C>& work, const Tile& tile) {
  const BackwardScratch<C>& s = work.scratch;
  float multiplier[4][kQueries];
  for (int64_t r = 0; r < tile.keys; ++r) {
    if (work.dropout && r % 4 == 0) mask_four_keys(work.mask, tile, tile.key + r, multiplier);
    const int64_t at = r * tile.queries;
    const GradientRow row{.scores = s.scores + at,
                          .dp = s.dp + at,
                          .log2_sum = s.log2_sum + tile.query,
                          .y_dot_dy = s.y_dot_dy + tile.query,
                          .multiplier = multiplier[r % 4],
                          .log2_scale = work.scale * kLog2E};
    if (work.dropout)
      gradient_row<true>(row, tile.queries, s.probabilities + at, s.ds + at);
    else
      gradient_row<false>(row, tile.queries, s.probabilities + at, s.ds + at);
    const int64_t hidden = std::clamp<int64_t>(tile.key + r - tile.query, 0, tile.queries);
    std::fill_n(s.probabilities + at, hidden, C(0.0f));
    std::fill_n(s.ds + at, hidden, C(0.0f));
  }
}

/// The products of scores and of the gradient of probabilities, of keys and values, and of queries.
struct TileSpecs {
  ProductSpec scores, keys, queries;

  TileSpecs(const Tile& tile, int64_t d)
      : scores{.m = tile.keys, .n = tile.queries, .k = d, .transpose_b = true},
        keys{.m = tile.keys, .n = d, .k = tile.queries, .accumulate = true},
        queries{
            .m = tile.queries, .n = d, .k = tile.keys, .transpose_a = true, .accumulate = true} {}
};

template <class T, class C>
void backward_tile(const BackwardHead<T, C>& work, const Tile& tile) {
  const BackwardScratch<C>& s = work.scratch;
  const int64_t d = work.head.head_width;
  const int64_t query = tile.query * d, key = tile.key * d;
  const TileSpecs specs(tile, d);
  multiply(specs.scores, s.k + key, s.q + query, s.scores);
  multiply(specs.scores, s.v + key, s.dy + query, s.dp);
  gradient_tile(work, tile);
  multiply(specs.keys, s.probabilities, s.dy + query, s.dv + key);
  multiply(specs.keys, s.ds, s.q + query, s.dk + key);
  multiply(specs.queries, s.ds, s.k + key, s.dq + query);
}

/// Calls visit(tile) with all tiles of a head.
template <class Visit>
void for_tiles(int64_t length, const Visit& visit) {
  for (int64_t query = 0; query < length; query += kQueries) {
    const int64_t queries = std::min(kQueries, length - query), end = query + queries;
    for (int64_t key = 0; key < end; key += kKeys)
      visit(Tile{query, queries, key, std::min(kKeys, end - key)});
  }
}

template <class T, class C>
void gather(const BackwardHead<T, C>& work) {
  const Head& head = work.head;
  const BackwardScratch<C>& s = work.scratch;
  const StridedRows packed{head.length, head.head_width, 3 * head.width};
  const T* qkv = work.arrays.qkv + head.offset(packed.ld);
  gather_rows(packed, qkv, s.q);
  gather_rows(packed, qkv + head.width, s.k);
  gather_rows(packed, qkv + 2 * head.width, s.v);
  const T* dy = work.arrays.dy + head.offset(head.width);
  const T* y = work.arrays.y + head.offset(head.width);
  gather_rows({head.length, head.head_width, head.width}, dy, s.dy);
  for (int64_t i = 0; i < head.length; ++i) {
    float sum = 0.0f;
    for (int64_t j = 0; j < head.head_width; ++j)
      sum += float(dy[i * head.width + j]) * float(y[i * head.width + j]);
    s.y_dot_dy[i] = sum;
    s.log2_sum[i] = kLog2E * work.arrays.logsumexp[head.first_row() + i];
  }
}

template <class T, class C>
void backward_head(const BackwardHead<T, C>& work) {
  const Head& head = work.head;
  const BackwardScratch<C>& s = work.scratch;
  gather(work);
  for (float* sum : {s.dq, s.dk, s.dv}) std::fill_n(sum, head.length * head.head_width, 0.0f);
  for_tiles(head.length, [&](const Tile& tile) { backward_tile(work, tile); });
  const StridedRows packed{head.length, head.head_width, 3 * head.width};
  T* dqkv = work.arrays.dqkv + head.offset(packed.ld);
  scatter_rows(packed, work.scale, s.dq, dqkv);
  scatter_rows(packed, work.scale, s.dk, dqkv + head.width);
  scatter_rows(packed, 1.0f, s.dv, dqkv + 2 * head.width);
}

template <class T, class C>
void attend_backward(int threads, const AttentionExtents& extents, const DropoutSite& site,
                     const StepInputs& inputs, const AttentionGradArrays<T>& arrays) {
  const int64_t slice_bytes = backward_slice_bytes(extents, dtype_of<C>());
  on_threads(threads, extents.samples * extents.heads, [&](int thread, int64_t item) {
    Slice slice(static_cast<std::byte*>(arrays.scratch) + thread * slice_bytes);
    const Head head(extents, item);
    backward_head(BackwardHead<T, C>{.head = head,
                                     .arrays = arrays,
                                     .scratch = BackwardScratch<C>(extents, slice),
                                     .mask = HeadMask(head, site, inputs),
                                     .dropout = site.probability > 0.0f,
                                     .scale = 1.0f / extents.divisor()});
  });
}

}  // namespace

void prepare_backward(const AttentionExtents& extents, Dtype compute) {
  for_tiles(extents.length, [&](const Tile& tile) {
    const TileSpecs specs(tile, extents.head_width);
    for (const ProductSpec& spec : {specs.scores, specs.keys, specs.queries}) {
      prepare_host_gemm(tile_spec(spec, compute), 1);
    }
  });
}

int64_t backward_slice_bytes(const AttentionExtents& extents, Dtype compute) {
  Slice slice(nullptr);
  if (compute == Dtype::bf16)
    BackwardScratch<bf16>(extents, slice);
  else
    BackwardScratch<float>(extents, slice);
  return slice.bytes();
}

}  // namespace vendor

template <class T>
void attention_backward(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
                        const StepInputs* inputs, const AttentionGradArrays<T>& arrays) {
  vendor::check(extents, site);
  if constexpr (std::is_same_v<T, bf16>) {
    if (vendor::multiplies(Dtype::bf16))
      return vendor::attend_backward<T, bf16>(stream.threads(), extents, site, *inputs, arrays);
  }
  vendor::attend_backward<T, float>(stream.threads(), extents, site, *inputs, arrays);
}

template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<float>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<bf16>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<f16>&);

}  // namespace zero::kernels
