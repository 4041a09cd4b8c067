#pragma once
/// What both directions of attention on the host share: tiles, scratch, products of tiles, masks.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/vendor/host/gemm.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels::vendor {

/// Queries of a tile. The keys of a tile are a multiple of it, so a tile that shows any key to one
/// of its queries shows its first key to all of them.
inline constexpr int64_t kQueries = 128;

struct Tile {
  int64_t query, queries, key, keys;
};

/// Cuts one thread's slice of the scratch; from a null base it only counts.
class Slice {
 public:
  explicit Slice(std::byte* base) : base_(base) {}
  template <class E>
  E* take(int64_t numel) {
    std::byte* at = base_ == nullptr ? nullptr : base_ + bytes_;
    bytes_ += round_up(numel * int64_t(sizeof(E)), kExtentAlignBytes);
    return reinterpret_cast<E*>(at);
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* base_;
  int64_t bytes_ = 0;
};

/// One head of one sample.
struct Head {
  int64_t length, width, heads, head_width;
  int64_t sample, head;

  Head(const AttentionExtents& extents, int64_t item)
      : length(extents.length),
        width(extents.heads * extents.head_width),
        heads(extents.heads),
        head_width(extents.head_width),
        sample(item / extents.heads),
        head(item % extents.heads) {}
  /// First element of this head in rows of `columns` elements.
  int64_t offset(int64_t columns) const { return sample * length * columns + head * head_width; }
  /// First row of this head in [samples, heads, length].
  int64_t first_row() const { return (sample * heads + head) * length; }
};

struct StridedRows {
  int64_t rows, columns, ld;
};

/// Dense C rows out of strided T rows.
template <class T, class C>
void gather_rows(const StridedRows& shape, const T* from, C* to) {
  for (int64_t i = 0; i < shape.rows; ++i)
    for (int64_t j = 0; j < shape.columns; ++j)
      to[i * shape.columns + j] = C(float(from[i * shape.ld + j]));
}

/// The reverse, with a factor on the way.
template <class T>
void scatter_rows(const StridedRows& shape, float factor, const float* from, T* to) {
  for (int64_t i = 0; i < shape.rows; ++i)
    for (int64_t j = 0; j < shape.columns; ++j)
      to[i * shape.ld + j] = T(factor * from[i * shape.columns + j]);
}

/// A product of dense tiles, with sums in fp32.
inline GemmSpec tile_spec(const ProductSpec& spec, Dtype dtype) {
  return {.m = spec.m,
          .n = spec.n,
          .k = spec.k,
          .lda = spec.transpose_a ? spec.m : spec.k,
          .ldb = spec.transpose_b ? spec.k : spec.n,
          .ldc = spec.n,
          .in = dtype,
          .out = Dtype::f32,
          .transpose_a = spec.transpose_a,
          .transpose_b = spec.transpose_b,
          .accumulate = spec.accumulate};
}

/// Product of dense tiles on the calling thread alone.
template <class C>
void multiply(const ProductSpec& spec, const C* a, const C* b, float* c) {
  host_gemm(tile_spec(spec, dtype_of<C>()), {.a = a, .b = b, .c = c}, 1);
}

/// What attention_backward() makes, for tiles of `compute`.
void prepare_backward(const AttentionExtents& extents, Dtype compute);

/// What names the masks of one sample.
struct DropoutStream {
  uint64_t seed;
  int64_t sample;
  uint32_t site;
};

/// Random words of kLanes blocks: word[i][l] is word i of block l.
struct WordLanes {
  static constexpr int kLanes = 32;
  uint32_t word[4][kLanes];
};

/// dropout_words() of the blocks first, first + stride, ... side by side.
WordLanes dropout_word_lanes(const DropoutStream& stream, uint32_t first, uint32_t stride);

/// The masks of one head: four neighbouring keys of a query share one block of random words.
struct HeadMask {
  DropoutStream stream;
  uint32_t threshold;
  uint32_t first_block;      ///< of query 0
  uint32_t blocks_of_query;  ///< round_up(length, 4) / 4
  float multiplier;          ///< of kept elements, 1 / (1 - p)

  HeadMask(const Head& head, const DropoutSite& dropout, const StepInputs& inputs)
      : stream{.seed = inputs.seed,
               .sample = inputs.first_sample + dropout.sample_offset + head.sample,
               .site = dropout.site},
        threshold(dropout_threshold(dropout.probability)),
        blocks_of_query(uint32_t(ceil_div<int64_t>(head.length, 4))),
        multiplier(1.0f / (1.0f - dropout.probability)) {
    first_block = uint32_t(head.head * head.length) * blocks_of_query;
  }
  /// The words for keys [4 key_block, 4 (key_block + kLanes)) of one query.
  WordLanes words_of_keys(int64_t query, int64_t key_block) const {
    return dropout_word_lanes(stream, block(query, key_block), 1);
  }
  /// The words for the four keys of `key_block` and kLanes queries from `query` on.
  WordLanes words_of_queries(int64_t query, int64_t key_block) const {
    return dropout_word_lanes(stream, block(query, key_block), blocks_of_query);
  }

 private:
  uint32_t block(int64_t query, int64_t key_block) const {
    return first_block + uint32_t(query) * blocks_of_query + uint32_t(key_block);
  }
};

/// Rounds on assignment, NaN only in its default pattern; a loop over 16-bit structs would not
/// vectorise.
inline void assign(float& to, float value) { to = value; }
inline void assign(bf16& to, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  to.bits = uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr float kLn2 = 0.693147180559945309f;

/// 2^x for x that is rarely above 0, to 2e-7 relative; 0 below -126. Half the work of exp_f32():
/// one reduction step, no subnormal results.
inline float exp2_f32(float x) {
  constexpr float kToInteger = 12582912.0f;  // 1.5 * 2^23: the sum's low bits are the integer
  const float clamped = x < -127.0f ? -127.0f : x;
  const float shifted = clamped + kToInteger;
  const float r = clamped - (shifted - kToInteger);
  float p = 1.535336188319500e-4f;
  p = std::fma(p, r, 1.339887440266574e-3f);
  p = std::fma(p, r, 9.618437357674640e-3f);
  p = std::fma(p, r, 5.550332471162809e-2f);
  p = std::fma(p, r, 2.402264791363012e-1f);
  p = std::fma(p, r, 6.931472028550421e-1f);
  p = std::fma(p, r, 1.0f);
  const uint32_t power = std::bit_cast<uint32_t>(shifted) << 23;
  const float value = std::bit_cast<float>(std::bit_cast<uint32_t>(p) + power);
  return x < -126.0f ? 0.0f : value;
}

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
/// Sums and maxima of a row run in this many lanes, then down a tree.
inline constexpr int64_t kRowLanes = 16;

/// The largest of whole lanes of floats.
inline float maximum_of(const float* row, int64_t numel) {
  float lane[kRowLanes];
  std::copy(row, row + kRowLanes, lane);
  for (int64_t j = kRowLanes; j < numel; j += kRowLanes)
    for (int64_t l = 0; l < kRowLanes; ++l) lane[l] = lane[l] < row[j + l] ? row[j + l] : lane[l];
  for (int64_t stride = kRowLanes / 2; stride > 0; stride /= 2)
    for (int64_t l = 0; l < stride; ++l) lane[l] = std::max(lane[l], lane[l + stride]);
  return lane[0];
}

/// out[j] = 2^(factor * row[j] - shift) over whole lanes; returns their sum.
template <class C>
float exponentials(const float* row, int64_t numel, float factor, float shift, C* out) {
  float lane[kRowLanes] = {};
  for (int64_t j = 0; j < numel; j += kRowLanes) {
    float value[kRowLanes];
    for (int64_t l = 0; l < kRowLanes; ++l)
      value[l] = exp2_f32(std::fma(factor, row[j + l], -shift));
    for (int64_t l = 0; l < kRowLanes; ++l) lane[l] += value[l];
    for (int64_t l = 0; l < kRowLanes; ++l) assign(out[j + l], value[l]);
  }
  for (int64_t stride = kRowLanes / 2; stride > 0; stride /= 2)
    for (int64_t l = 0; l < stride; ++l) lane[l] += lane[l + stride];
  return lane[0];
}

/// Throws Error(kInternal) for extents or a probability out of range.
inline void check(const AttentionExtents& extents, const DropoutSite& site) {
  ZERO_REQUIRE(
      extents.samples > 0 && extents.length > 0 && extents.heads > 0 && extents.head_width > 0,
      "attention over ", extents.samples, " samples of ", extents.length, " tokens with ",
      extents.heads, " heads of ", extents.head_width, ": all must be at least 1");
  ZERO_REQUIRE(site.probability >= 0.0f && site.probability < 1.0f, "dropout probability ",
               site.probability, ": choose one in [0, 1)");
}

/// Bytes of one thread's slice.
int64_t forward_slice_bytes(const AttentionExtents& extents, Dtype compute);
int64_t backward_slice_bytes(const AttentionExtents& extents, Dtype compute);

/// The type that tiles of `dtype` are multiplied in.
inline Dtype compute_dtype(Dtype dtype) {
  return dtype == Dtype::bf16 && multiplies(Dtype::bf16) ? Dtype::bf16 : Dtype::f32;
}

}  // namespace zero::kernels::vendor
