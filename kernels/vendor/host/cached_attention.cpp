#include <algorithm>
#include <cmath>

#include "kernels/support/host_team.hpp"
#include "kernels/vendor/host/attention.hpp"
#include "kernels/vendor/host/panel.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace vendor {
namespace {

static_assert(cache_columns(1) == kPanelColumns);

struct RowScratch {
  float* query;   ///< [head_width]
  float* scores;  ///< [columns]

  RowScratch(const CachedAttentionExtents& extents, Slice& slice)
      : query(slice.take<float>(extents.head_width)), scores(slice.take<float>(extents.columns)) {}
};

int64_t slice_bytes(const CachedAttentionExtents& extents) {
  Slice slice(nullptr);
  RowScratch(extents, slice);
  return slice.bytes();
}

/// One head. Panels of keys lie transposed, so that scores, like the sums of values, are multiples
/// of rows: no sum runs across a vector.
template <class T>
struct CachedHead {
  CachedAttentionExtents extents;
  CachedAttentionArrays<T> arrays;
  RowScratch scratch;
  int64_t head;

  int64_t width() const { return extents.heads * extents.head_width; }
  const T* part(int64_t row, int64_t which) const {
    return arrays.qkv + (3 * row + which) * width() + head * extents.head_width;
  }
  T* keys() const { return arrays.cache + head * extents.head_width * extents.columns; }
  T* values() const { return keys() + width() * extents.columns; }
  T* out(int64_t row) const { return arrays.y + row * width() + head * extents.head_width; }

  void store(int64_t row, int64_t position) const {
    const int64_t d = extents.head_width, column = position % kPanelColumns;
    const T *const key = part(row, 1), *const value = part(row, 2);
    T* const panel = keys() + (position - column) * d;
    for (int64_t i = 0; i < d; ++i) panel[i * kPanelColumns + column] = key[i];
    std::copy(value, value + d, values() + position * d);
  }

  void attend(int64_t row, int64_t visible) const {
    const int64_t padded = round_up(visible, kRowLanes);
    const float log2_scale = kLog2E / std::sqrt(float(extents.head_width));
    float* const scores = scratch.scores;
    write_scores(row, visible);
    std::fill(scores + visible, scores + padded, kMinusInfinity);
    const float shift = log2_scale * maximum_of(scores, padded);
    const float sum = exponentials(scores, padded, log2_scale, shift, scores);
    write_values(row, visible, 1.0f / sum);
  }

  /// scores[j] = q . k[j], also behind the visible tokens up to the end of their last panel.
  void write_scores(int64_t row, int64_t visible) const {
    const int64_t d = extents.head_width;
    const T* const query = part(row, 0);
    for (int64_t i = 0; i < d; ++i) scratch.query[i] = float(query[i]);
    for (int64_t token = 0; token < visible; token += kPanelColumns)
      multiply_panel<1, T>({keys() + token * d, d, kPanelColumns, kPanelColumns}, scratch.query,
                           scratch.scores + token);
  }

  void write_values(int64_t row, int64_t visible, float factor) const {
    const int64_t d = extents.head_width;
    for (int64_t column = 0; column < d; column += kPanelColumns) {
      const int64_t columns = std::min(kPanelColumns, d - column);
      float sums[kPanelColumns];
      multiply_panel<1, T>({values() + column, visible, d, columns}, scratch.scores, sums);
      scatter_rows({1, columns, columns}, factor, sums, out(row) + column);
    }
  }
};

void require_room(const CachedAttentionExtents& extents, const DecodeInputs& inputs) {
  ZERO_REQUIRE(inputs.rows >= 1 && inputs.rows <= extents.rows, inputs.rows,
               " tokens in a chunk of ", extents.rows);
  ZERO_REQUIRE(inputs.position >= 0 && inputs.position + inputs.rows <= extents.columns,
               inputs.rows, " tokens from position ", inputs.position, " on in a cache of ",
               extents.columns);
}

}  // namespace
}  // namespace vendor

int64_t cached_attention_scratch_bytes(const CachedAttentionExtents& extents, int threads) {
  return threads * vendor::slice_bytes(extents);
}

template <class T>
void cached_attention(Stream& stream, const CachedAttentionExtents& extents,
                      const DecodeInputs* inputs, const CachedAttentionArrays<T>& arrays) {
  vendor::require_room(extents, *inputs);
  const int64_t bytes = vendor::slice_bytes(extents);
  on_threads(stream.threads(), extents.heads, [&](int thread, int64_t item) {
    vendor::Slice slice(static_cast<std::byte*>(arrays.scratch) + thread * bytes);
    const vendor::CachedHead<T> head{extents, arrays, vendor::RowScratch(extents, slice), item};
    for (int64_t row = 0; row < inputs->rows; ++row) head.store(row, inputs->position + row);
    for (int64_t row = 0; row < inputs->rows; ++row) head.attend(row, inputs->position + row + 1);
    for (int64_t row = inputs->rows; row < extents.rows; ++row)
      std::fill_n(head.out(row), extents.head_width, T(0.0f));
  });
}

template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<float>&);
template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<bf16>&);
template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<f16>&);

}  // namespace zero::kernels
