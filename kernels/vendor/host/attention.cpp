#include "kernels/vendor/host/attention.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/support/host_threads.hpp"
#include "kernels/support/math.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace vendor {
namespace {

/// Keys of a tile: a tile of scores in fp32 and one of probabilities share a 1 MiB cache.
constexpr int64_t kKeys = 512;

template <class C>
struct ForwardScratch {
  C* q;              ///< [length, head_width]
  C *k, *v;          ///< [keys, head_width], zeros for padding
  float* scores;     ///< [kQueries, pitch_of(tile)]
  C* probabilities;  ///< as scores, not yet divided by the row's sum
  float* y;          ///< [kQueries, head_width]

  ForwardScratch(const AttentionExtents& extents, Slice& slice) {
    q = slice.take<C>(extents.length * extents.head_width);
    k = slice.take<C>(extents.key_length() * extents.head_width);
    v = slice.take<C>(extents.key_length() * extents.head_width);
    scores = slice.take<float>(kQueries * kKeys);
    if constexpr (std::is_same_v<C, float>)  // in place: a tile less of cache
      probabilities = scores;
    else
      probabilities = slice.take<C>(kQueries * kKeys);
    y = slice.take<float>(kQueries * extents.head_width);
  }
};

/// Returns the elements from one query's row of a tile to the next: whole lanes of keys.
int64_t pitch_of(const Tile& tile) { return round_up(tile.keys, kRowLanes); }

/// The online softmax of one query.
struct RowSoftmax {
  float maximum = kMinusInfinity;
  float sum = 0.0f;
};

template <class T, class C>
struct ForwardHead {
  Head head;
  AttentionArrays<T> arrays;
  ForwardScratch<C> scratch;
  HeadMask mask;
  const float* bias;  ///< bias of this head, or null
  bool dropout;
  float log2_scale;  ///< log2(e) / divisor
  RowSoftmax rows[kQueries];
};

/// Zeroes the dropped elements of a row of whole lanes of four keys.
void drop_row(const HeadMask& mask, int64_t query, int64_t key, int64_t keys, float* row) {
  constexpr int64_t kKeysAtOnce = 4 * WordLanes::kLanes;
  for (int64_t first = 0; first < keys; first += kKeysAtOnce) {
    const WordLanes words = mask.words_of_keys(query, (key + first) / 4);
    const int64_t quads = ceil_div<int64_t>(std::min(kKeysAtOnce, keys - first), 4);
    float* part = row + first;
    for (int64_t l = 0; l < quads; ++l)
      for (int i = 0; i < 4; ++i)
        part[4 * l + i] = words.word[i][l] >= mask.threshold ? part[4 * l + i] : 0.0f;
  }
}

/// Adds the bias times the divisor, because scores are divided later.
template <class T, class C>
void add_bias(const ForwardHead<T, C>& work, const Tile& tile, int64_t i, int64_t visible,
              float* row) {
  const AttentionExtents& extents = work.head.extents;
  const float divisor = extents.divisor();
  const float* bias = work.bias + extents.length - 1 - (tile.query + i) + tile.key;
  for (int64_t j = 0; j < visible; ++j) row[j] = std::fma(divisor, bias[j], row[j]);
}

/// Turns one row of scores into exponentials. Returns the factor that brings this query's earlier
/// sums to the new maximum.
template <class T, class C>
float softmax_row(ForwardHead<T, C>& work, const Tile& tile, int64_t i) {
  const int64_t pitch = pitch_of(tile);
  float* const row = work.scratch.scores + i * pitch;
  C* const out = work.scratch.probabilities + i * pitch;
  const int64_t visible = std::min(tile.keys, work.head.visible(tile.query + i) - tile.key);
  const int64_t padded = round_up(visible, kRowLanes);
  if (work.bias) add_bias(work, tile, i, visible, row);

  RowSoftmax& state = work.rows[i];
  const float maximum = std::max(state.maximum, maximum_of(row, visible));
  const float shift = work.log2_scale * maximum;
  const float rescale =
      tile.key == 0 ? 0.0f : exp2_f32(std::fma(work.log2_scale, state.maximum, -shift));
  float sum;
  if (work.dropout) {
    sum = exponentials(row, visible, work.log2_scale, shift, row);
    drop_row(work.mask, tile.query + i, tile.key, visible, row);
    for (int64_t j = 0; j < padded; ++j) assign(out[j], row[j]);
  } else {
    sum = exponentials(row, visible, work.log2_scale, shift, out);
  }
  state = {maximum, state.sum * rescale + sum};
  std::fill(out + padded, out + pitch, C(0.0f));
  return rescale;
}

GemmSpec scores_spec(const Tile& tile, int64_t d, Dtype compute) {
  GemmSpec spec =
      tile_spec({.m = tile.queries, .n = tile.keys, .k = d, .transpose_b = true}, compute);
  spec.ldc = pitch_of(tile);
  return spec;
}

GemmSpec values_spec(const Tile& tile, int64_t d, Dtype compute) {
  GemmSpec spec =
      tile_spec({.m = tile.queries, .n = d, .k = tile.keys, .accumulate = tile.key > 0}, compute);
  spec.lda = pitch_of(tile);
  return spec;
}

void prepare_forward(const AttentionExtents& extents, Dtype compute) {
  const int64_t d = extents.head_width;
  for_score_rows(extents, [&](const ScoreRows& rows) {
    for_tiles(rows, kKeys, [&](const Tile& tile) {
      prepare_host_gemm(scores_spec(tile, d, compute), 1);
      prepare_host_gemm(values_spec(tile, d, compute), 1);
    });
  });
}

template <class T, class C>
void attend_tile(ForwardHead<T, C>& work, const Tile& tile) {
  const ForwardScratch<C>& s = work.scratch;
  const int64_t d = work.head.extents.head_width;
  constexpr Dtype kCompute = dtype_of<C>();
  multiply(scores_spec(tile, d, kCompute), s.q + tile.query * d, s.k + tile.key * d, s.scores);
  for (int64_t i = 0; i < tile.queries; ++i) {
    const float rescale = softmax_row(work, tile, i);
    if (tile.key == 0) continue;
    for (int64_t j = 0; j < d; ++j) s.y[i * d + j] *= rescale;
  }
  multiply(values_spec(tile, d, kCompute), s.probabilities, s.v + tile.key * d, s.y);
}

template <class T, class C>
void attend_queries(ForwardHead<T, C>& work, int64_t query) {
  const Head& head = work.head;
  const int64_t d = head.extents.head_width, width = head.extents.inner_width();
  const int64_t queries = std::min(kQueries, head.extents.length - query);
  std::fill(work.rows, work.rows + queries, RowSoftmax{});
  for_key_tiles(head.rows, query, kKeys, [&](const Tile& tile) { attend_tile(work, tile); });
  T* y = work.arrays.y + head.of_queries(width) + query * width;
  float* logsumexp = work.arrays.logsumexp + head.first_row() + query;
  for (int64_t i = 0; i < queries; ++i)
    logsumexp[i] = work.log2_scale * kLn2 * work.rows[i].maximum + log_f32(work.rows[i].sum);
  for (int64_t i = 0; i < queries; ++i)
    scatter_rows({1, d, width}, work.mask.multiplier / work.rows[i].sum, work.scratch.y + i * d,
                 y + i * width);
}

/// Writes zeros for queries that see no key.
template <class T>
void attend_nothing(const Head& head, const AttentionArrays<T>& arrays) {
  const int64_t width = head.extents.inner_width();
  zero_rows({head.extents.length, head.extents.head_width, width},
            arrays.y + head.of_queries(width));
  std::fill_n(arrays.logsumexp + head.first_row(), head.extents.length, 0.0f);
}

template <class T, class C>
void attend_head(ForwardHead<T, C>& work) {
  const Head& head = work.head;
  if (head.keys == 0) return attend_nothing(head, work.arrays);
  gather_inputs(head, work.arrays.in, work.scratch);
  for (int64_t query = 0; query < head.extents.length; query += kQueries)
    attend_queries(work, query);
}

template <class T, class C>
void attend(int threads, const AttentionExtents& extents, const DropoutSite& site,
            const StepInputs& inputs, const AttentionArrays<T>& arrays) {
  const int64_t slice_bytes = forward_slice_bytes(extents, dtype_of<C>());
  on_threads(threads, extents.samples * extents.heads, [&](int thread, int64_t item) {
    Slice slice(static_cast<std::byte*>(arrays.scratch) + thread * slice_bytes);
    const Head head(extents, arrays.in.key_counts, item);
    ForwardHead<T, C> work{.head = head,
                           .arrays = arrays,
                           .scratch = ForwardScratch<C>(extents, slice),
                           .mask = HeadMask(head, site, inputs),
                           .bias = head.diagonals(arrays.in.bias),
                           .dropout = site.probability > 0.0f,
                           .log2_scale = kLog2E / extents.divisor(),
                           .rows = {}};
    attend_head(work);
  });
}

}  // namespace

int64_t forward_slice_bytes(const AttentionExtents& extents, Dtype compute) {
  Slice slice(nullptr);
  if (compute == Dtype::bf16)
    ForwardScratch<bf16>(extents, slice);
  else
    ForwardScratch<float>(extents, slice);
  return slice.bytes();
}

}  // namespace vendor

int64_t attention_scratch_bytes(const AttentionExtents& extents, Dtype dtype, int threads) {
  const Dtype compute = vendor::compute_dtype(dtype);
  return threads * std::max(vendor::forward_slice_bytes(extents, compute),
                            vendor::backward_slice_bytes(extents, compute)) +
         vendor::bias_sums_bytes(extents);
}

void prepare_attention(const AttentionExtents& extents, Dtype dtype, bool backward) {
  const Dtype compute = vendor::compute_dtype(dtype);
  backward ? vendor::prepare_backward(extents, compute) : vendor::prepare_forward(extents, compute);
}

void set_attention_rules(const AttentionRules&) {}

const char* attention_library() { return ""; }

template <class T>
void attention(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
               const StepInputs* inputs, const AttentionArrays<T>& arrays) {
  vendor::check_attention(extents, site, arrays.in);
  if constexpr (std::is_same_v<T, bf16>) {
    if (vendor::multiplies(Dtype::bf16))
      return vendor::attend<T, bf16>(stream.threads(), extents, site, *inputs, arrays);
  }
  vendor::attend<T, float>(stream.threads(), extents, site, *inputs, arrays);
}

template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<float>&);
template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<bf16>&);
template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<f16>&);

}  // namespace zero::kernels
