#include <cmath>

#include "kernels/support/math.hpp"
#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace {

const std::string kStore = "zero::cache_keys";
const std::string kAttend = "zero::cached_attention";

constexpr int64_t kPanel = 64;
static_assert(cache_columns(1) == kPanel);

template <class T>
struct Cache {
  CachedAttentionExtents extents;
  const DecodeInputs* inputs;
  CachedAttentionArrays<T> arrays;

  KOKKOS_FUNCTION int64_t width() const { return extents.heads * extents.head_width; }
  /// Where element j of a head's key, and of its value, lies for the token at `position`.
  KOKKOS_FUNCTION int64_t key_at(int64_t head, int64_t position, int64_t j) const {
    const int64_t column = position % kPanel;
    return head * extents.head_width * extents.columns + (position - column) * extents.head_width +
           j * kPanel + column;
  }
  KOKKOS_FUNCTION int64_t value_at(int64_t head, int64_t position, int64_t j) const {
    return width() * extents.columns + (head * extents.columns + position) * extents.head_width + j;
  }
};

/// The host may not look at `inputs`, so what does not fit the cache is left out of it.
template <class T>
struct StoreTokens {
  Cache<T> cache;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    const int64_t width = cache.width(), row = i / width, element = i % width;
    const int64_t position = cache.inputs->position + row;
    if (row >= cache.inputs->rows || position >= cache.extents.columns) return;
    const int64_t head = element / cache.extents.head_width, j = element % cache.extents.head_width;
    const T* const packed = cache.arrays.qkv + row * 3 * width + element;
    cache.arrays.cache[cache.key_at(head, position, j)] = packed[width];
    cache.arrays.cache[cache.value_at(head, position, j)] = packed[2 * width];
  }
};

/// One team a head of a row; its scores lie in the scratch.
template <class T>
struct AttendToTokens {
  Cache<T> cache;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t item) const {
    const CachedAttentionExtents& extents = cache.extents;
    const int64_t r = item / extents.heads, head = item % extents.heads, d = extents.head_width;
    T* const y = cache.arrays.y + r * cache.width() + head * d;
    if (r >= cache.inputs->rows) {
      row.for_each(d, [=](int64_t j) { y[j] = T(0.0f); });
      return;
    }
    const int64_t visible = least(cache.inputs->position + r + 1, extents.columns);
    float* const scores = static_cast<float*>(cache.arrays.scratch) + item * extents.columns;
    const T* const query = cache.arrays.qkv + r * 3 * cache.width() + head * d;
    const float scale = 1.0f / std::sqrt(float(d));
    const Cache<T> own = cache;
    row.for_each(visible, [=](int64_t token) {
      float dot = 0.0f;
      for (int64_t j = 0; j < d; ++j)
        dot = std::fma(float(query[j]), float(own.arrays.cache[own.key_at(head, token, j)]), dot);
      scores[token] = dot * scale;
    });
    row.barrier();
    const float most = row.maximum(visible, [=](int64_t token) { return scores[token]; });
    const float sum = row.template sum<float>(visible, [=](int64_t token) {
      scores[token] = exp_f32(scores[token] - most);
      return scores[token];
    });
    row.barrier();
    row.for_each(d, [=](int64_t j) {
      float total = 0.0f;
      for (int64_t token = 0; token < visible; ++token)
        total =
            std::fma(scores[token], float(own.arrays.cache[own.value_at(head, token, j)]), total);
      y[j] = T(total / sum);
    });
  }
};

}  // namespace

int64_t cached_attention_scratch_bytes(const CachedAttentionExtents& extents, int) {
  return extents.rows * extents.heads * extents.columns * int64_t(sizeof(float));
}

template <class T>
void cached_attention(Stream& stream, const CachedAttentionExtents& extents,
                      const DecodeInputs* inputs, const CachedAttentionArrays<T>& arrays) {
  ZERO_REQUIRE(extents.rows > 0 && extents.columns % kPanel == 0, extents.rows,
               " rows with a cache of ", extents.columns, " tokens: at least 1, and whole panels");
  const Cache<T> cache{extents, inputs, arrays};
  for_each_element(stream, kStore, extents.rows * cache.width(), StoreTokens<T>{cache});
  for_each_row(stream, kAttend, extents.rows * extents.heads, AttendToTokens<T>{cache});
}

template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<float>&);
template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<bf16>&);
template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<f16>&);

}  // namespace zero::kernels
