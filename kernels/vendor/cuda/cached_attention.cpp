#include <cmath>

#include "kernels/support/math.hpp"
#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace {

const std::string kMove = "zero::move_keys";
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
  KOKKOS_FUNCTION int64_t key_at(int64_t cache, int64_t head, int64_t position, int64_t j) const {
    const int64_t column = position % kPanel;
    return (2 * width() * cache + head * extents.head_width) * extents.columns +
           (position - column) * extents.head_width + j * kPanel + column;
  }
  KOKKOS_FUNCTION int64_t value_at(int64_t cache, int64_t head, int64_t position, int64_t j) const {
    return width() * (2 * cache + 1) * extents.columns +
           (head * extents.columns + position) * extents.head_width + j;
  }
  KOKKOS_FUNCTION bool has(int64_t cache, int64_t position) const {
    return cache >= 0 && cache < extents.caches && position >= 0 && position < extents.columns;
  }
};

/// The host may not look at what a device reads, so what does not fit the caches is left out.
template <class T>
struct MoveTokens {
  Cache<T> cache;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t item) const {
    if (item >= cache.inputs->moves) return;
    const CacheMove move = cache.arrays.moves[item];
    if (!cache.has(move.from, move.begin) || !cache.has(move.to, move.end - 1)) return;
    const int64_t width = cache.width(), d = cache.extents.head_width;
    const Cache<T> own = cache;
    row.for_each((move.end - move.begin) * width, [=](int64_t i) {
      const int64_t position = move.begin + i / width, head = i % width / d, j = i % d;
      T* const to = own.arrays.cache;
      to[own.key_at(move.to, head, position, j)] = to[own.key_at(move.from, head, position, j)];
      to[own.value_at(move.to, head, position, j)] = to[own.value_at(move.from, head, position, j)];
    });
  }
};

template <class T>
struct StoreTokens {
  Cache<T> cache;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    const int64_t width = cache.width(), row = i / width, element = i % width;
    if (row >= cache.inputs->rows) return;
    const ChunkRow place = cache.arrays.rows[row];
    if (!cache.has(place.text, place.position)) return;
    const int64_t head = element / cache.extents.head_width, j = element % cache.extents.head_width;
    const int64_t from = row * cache.arrays.stored.stride + element;
    T* const to = cache.arrays.cache;
    to[cache.key_at(place.text, head, place.position, j)] = cache.arrays.stored.keys[from];
    to[cache.value_at(place.text, head, place.position, j)] = cache.arrays.stored.values[from];
  }
};

/// One team a head of a row; its scores lie in the scratch.
template <class T>
struct AttendToTokens {
  Cache<T> cache;
  float divisor;

  struct Seen {
    int64_t cache, count;
  };
  KOKKOS_FUNCTION Seen seen_by(const ChunkRow& row) const {
    const CachedKeys keys = cache.extents.keys;
    const int64_t count = keys == CachedKeys::past ? row.position + 1 : row.source_keys;
    return {keys == CachedKeys::source ? row.source : row.text,
            least(count, cache.extents.columns)};
  }

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t item) const {
    const CachedAttentionExtents& extents = cache.extents;
    const int64_t r = item / extents.heads, head = item % extents.heads, d = extents.head_width;
    T* const y = cache.arrays.y + r * cache.width() + head * d;
    const bool is_token = r < cache.inputs->rows;
    const ChunkRow place = is_token ? cache.arrays.rows[r] : ChunkRow{-1, 0};
    const Seen seen = seen_by(place);
    if (!is_token || seen.count < 1 || !cache.has(seen.cache, 0)) {
      row.for_each(d, [=](int64_t j) { y[j] = T(0.0f); });
      return;
    }
    float* const scores = static_cast<float*>(cache.arrays.scratch) + item * extents.columns;
    write_scores(row, {r, head, place.position}, seen, scores);
    row.barrier();
    const float most = row.maximum(seen.count, [=](int64_t token) { return scores[token]; });
    const float sum = row.template sum<float>(seen.count, [=](int64_t token) {
      scores[token] = exp_f32(scores[token] - most);
      return scores[token];
    });
    row.barrier();
    const Cache<T> own = cache;
    row.for_each(d, [=](int64_t j) {
      float total = 0.0f;
      for (int64_t token = 0; token < seen.count; ++token)
        total = std::fma(scores[token],
                         float(own.arrays.cache[own.value_at(seen.cache, head, token, j)]), total);
      y[j] = T(total / sum);
    });
  }

  struct Query {
    int64_t row, head, position;
  };
  KOKKOS_FUNCTION void write_scores(const Row& row, const Query& of, const Seen& seen,
                                    float* scores) const {
    const Cache<T> own = cache;
    const int64_t d = own.extents.head_width, reach = own.extents.reach;
    const T* const query = own.arrays.q + of.row * own.arrays.q_stride + of.head * d;
    const float scale = 1.0f / divisor;
    row.for_each(seen.count, [=](int64_t token) {
      float dot = 0.0f;
      for (int64_t j = 0; j < d; ++j)
        dot = std::fma(float(query[j]),
                       float(own.arrays.cache[own.key_at(seen.cache, of.head, token, j)]), dot);
      const int64_t distance = token - of.position + reach - 1;
      const bool biased = distance >= 0 && distance < 2 * reach - 1;
      const float bias = biased ? own.arrays.bias[of.head * (2 * reach - 1) + distance] : 0.0f;
      scores[token] = biased ? std::fma(dot, scale, bias) : dot * scale;
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
  if (arrays.moves != nullptr) for_each_row(stream, kMove, extents.caches, MoveTokens<T>{cache});
  if (arrays.stored.keys != nullptr) store_keys(stream, extents, inputs, arrays);
  const float divisor =
      extents.divide_by > 0 ? extents.divide_by : std::sqrt(float(extents.head_width));
  for_each_row(stream, kAttend, extents.rows * extents.heads, AttendToTokens<T>{cache, divisor});
}

template <class T>
void store_keys(Stream& stream, const CachedAttentionExtents& extents, const DecodeInputs* inputs,
                const CachedAttentionArrays<T>& arrays) {
  const Cache<T> cache{extents, inputs, arrays};
  for_each_element(stream, kStore, extents.rows * cache.width(), StoreTokens<T>{cache});
}

template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<float>&);
template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<bf16>&);
template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<f16>&);
template void store_keys(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                         const CachedAttentionArrays<float>&);
template void store_keys(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                         const CachedAttentionArrays<bf16>&);
template void store_keys(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                         const CachedAttentionArrays<f16>&);

}  // namespace zero::kernels
