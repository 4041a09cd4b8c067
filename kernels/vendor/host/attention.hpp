#pragma once
/// Scratch, products of tiles and masks, for both directions of attention on the host.

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/support/tanh.hpp"
#include "kernels/vendor/attention_problem.hpp"
#include "kernels/vendor/host/attention_tiles.hpp"
#include "kernels/vendor/host/gemm.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels::vendor {

/// A slice of the scratch for one thread. From a null base it only counts.
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

struct StridedRows {
  int64_t rows, columns, ld;
};

/// Copies a row, usually of whole cache lines, without a call.
template <class T>
void copy_row(const T* from, int64_t numel, T* to) {
  constexpr int64_t kLine = 64 / int64_t(sizeof(T));
  int64_t j = 0;
  for (; j + kLine <= numel; j += kLine) std::memcpy(to + j, from + j, sizeof(T) * kLine);
  for (; j < numel; ++j) to[j] = from[j];
}

/// Copies strided T rows to dense C rows.
template <class T, class C>
void gather_rows(const StridedRows& shape, const T* from, C* to) {
  for (int64_t i = 0; i < shape.rows; ++i, from += shape.ld, to += shape.columns) {
    if constexpr (std::is_same_v<T, C>) {
      copy_row(from, shape.columns, to);
    } else {
      for (int64_t j = 0; j < shape.columns; ++j) to[j] = C(float(from[j]));
    }
  }
}

template <class T>
void zero_rows(const StridedRows& shape, T* to) {
  for (int64_t i = 0; i < shape.rows; ++i) std::fill_n(to + i * shape.ld, shape.columns, T(0.0f));
}

/// Copies a head's q to dense rows, with zeros for the padding that tiles cover. Does not read
/// padding. gather_keys(): its k and v.
template <class T, class Scratch>
void gather_head_queries(const Head& head, const AttentionInputs<T>& in, const Scratch& to) {
  const int64_t d = head.extents.head_width;
  gather_rows({head.queries, d, in.q_stride}, in.q + head.of_queries(in.q_stride), to.q);
  zero_rows({head.rows.queries - head.queries, d, d}, to.q + head.queries * d);
}
template <class T, class Scratch>
void gather_keys(const Head& head, const AttentionInputs<T>& in, const Scratch& to) {
  const int64_t d = head.extents.head_width, keys = head.of_keys(in.kv_stride);
  gather_rows({head.keys, d, in.kv_stride}, in.k + keys, to.k);
  gather_rows({head.keys, d, in.kv_stride}, in.v + keys, to.v);
  zero_rows({head.rows.keys - head.keys, d, d}, to.k + head.keys * d);
  zero_rows({head.rows.keys - head.keys, d, d}, to.v + head.keys * d);
}

/// Rounds into the bits, because a loop that assigns 16-bit structs would not vectorise.
inline void round_to(float& to, float value) { to = value; }
inline void round_to(bf16& to, float value) { to.bits = bf16_bits(value); }
inline void round_to(f16& to, float value) { to.bits = f16_bits(value); }

/// Copies dense rows to strided ones, times `factor`.
template <class T>
void scatter_rows(const StridedRows& shape, float factor, const float* from, T* to) {
  for (int64_t i = 0; i < shape.rows; ++i, from += shape.columns, to += shape.ld)
    for (int64_t j = 0; j < shape.columns; ++j) round_to(to[j], factor * from[j]);
}

/// Returns a product of dense tiles, with sums in fp32.
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

/// Multiplies tiles on the calling thread alone.
template <class C>
void multiply(const GemmSpec& spec, const C* a, const C* b, float* c) {
  host_gemm(spec, {.a = a, .b = b, .c = c}, 1);
}

/// Makes all that attention_backward() makes, for tiles of `compute`.
void prepare_backward(const AttentionExtents& extents, Dtype compute);

/// The name of one sample's masks.
struct DropoutStream {
  uint64_t seed;
  int64_t sample;
  uint32_t site;
};

/// The random words of kLanes blocks: word[i][l] is word i of block l.
struct WordLanes {
  static constexpr int kLanes = 32;
  uint32_t word[4][kLanes];
};

/// Returns dropout_words() of the blocks first, first + stride, ... side by side.
WordLanes dropout_word_lanes(const DropoutStream& stream, uint32_t first, uint32_t stride);

/// The masks of one head: four neighbouring keys of a query share one block of random words.
struct HeadMask {
  DropoutStream stream;
  uint32_t threshold;
  uint32_t first_block;      ///< block of query 0
  uint32_t blocks_of_query;  ///< round_up(keys, 4) / 4
  float multiplier;          ///< factor of kept elements, 1 / (1 - p)

  HeadMask(const Head& head, const DropoutSite& dropout, const StepInputs& inputs)
      : stream{.seed = inputs.seed,
               .sample = inputs.first_sample + dropout.sample_offset + head.sample,
               .site = dropout.site},
        threshold(dropout_threshold(dropout.probability)),
        blocks_of_query(uint32_t(ceil_div<int64_t>(head.extents.key_length(), 4))),
        multiplier(1.0f / (1.0f - dropout.probability)) {
    first_block = uint32_t(head.head * head.extents.length) * blocks_of_query;
  }
  /// Returns the words for keys [4 key_block, 4 (key_block + kLanes)) of one query.
  WordLanes words_of_keys(int64_t query, int64_t key_block) const {
    return dropout_word_lanes(stream, block(query, key_block), 1);
  }
  /// Returns the words for the four keys of `key_block` and kLanes queries from `query` on.
  WordLanes words_of_queries(int64_t query, int64_t key_block) const {
    return dropout_word_lanes(stream, block(query, key_block), blocks_of_query);
  }

 private:
  uint32_t block(int64_t query, int64_t key_block) const {
    return first_block + uint32_t(query) * blocks_of_query + uint32_t(key_block);
  }
};

/// Lanes in which sums and maxima of a row run, before a tree.
inline constexpr int64_t kRowLanes = 16;

/// Rounds as round_to() does, but only the default NaN stays right: two instructions less.
inline void assign(float& to, float value) { to = value; }
inline void assign(bf16& to, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  to.bits = uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

using Lanes = float[kRowLanes];

/// Assigns kRowLanes elements. GCC does not vectorise a loop that assigns structs, nor find the
/// processor's instruction, worth five others.
inline void assign_lanes(float* to, const Lanes& values) { std::copy_n(values, kRowLanes, to); }
#ifdef __AVX512BF16__
inline void assign_lanes(bf16* to, const Lanes& values) {
  const auto bits = std::bit_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_loadu_ps(values)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bits);
}
#else
inline void assign_lanes(bf16* to, const Lanes& values) {
  uint16_t bits[kRowLanes];
  for (int64_t l = 0; l < kRowLanes; ++l) {
    bf16 rounded;
    assign(rounded, values[l]);
    bits[l] = rounded.bits;
  }
  std::memcpy(to, bits, sizeof bits);
}
#endif

/// Assigns the first `count` elements as all lanes are assigned, because the processor's
/// instruction makes zeros of subnormal numbers. So equal values round alike.
template <class C>
void assign_lanes(C* to, const Lanes& values, int64_t count) {
  C rounded[kRowLanes];
  assign_lanes(rounded, values);
  std::copy_n(rounded, count, to);
}

inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr float kLn2 = 0.693147180559945309f;

/// Returns 2^x to 2e-7 relative, for x that is rarely above 0; 0 below -126. Half the work of
/// exp_f32(): one reduction step, no subnormal results.
inline float exp2_f32(float x) {
  constexpr float kToInteger = 12582912.0f;  // 1.5 * 2^23: the sum's low bits are the integer
  const float shifted = x + kToInteger;
  const float r = x - (shifted - kToInteger);
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

/// Returns one number of all lanes, down a tree of fold(a, b).
template <class Fold>
float fold_lanes(Lanes& lane, const Fold& fold) {
#pragma GCC unroll 4
  for (int64_t stride = kRowLanes / 2; stride > 0; stride /= 2)
    for (int64_t l = 0; l < stride; ++l) lane[l] = fold(lane[l], lane[l + stride]);
  return lane[0];
}

/// Returns the largest of `numel` floats. May read up to a multiple of the lanes. Takes four lanes
/// side by side, because each waits for the one before.
inline float maximum_of(const float* row, int64_t numel) {
  constexpr int64_t kSide = 4;
  const auto larger = [](float a, float b) { return a < b ? b : a; };
  Lanes lane[kSide];
  for (auto& lanes : lane) std::fill_n(lanes, kRowLanes, kMinusInfinity);
  int64_t j = 0;
  for (; j + kSide * kRowLanes <= numel; j += kSide * kRowLanes)
    for (int64_t s = 0; s < kSide; ++s)
      for (int64_t l = 0; l < kRowLanes; ++l)
        lane[s][l] = larger(lane[s][l], row[j + s * kRowLanes + l]);
  for (; j < numel; j += kRowLanes)
    for (int64_t l = 0; l < kRowLanes; ++l)
      lane[0][l] = larger(lane[0][l], j + l < numel ? row[j + l] : kMinusInfinity);
  for (int64_t l = 0; l < kRowLanes; ++l)
    lane[0][l] = larger(larger(lane[0][l], lane[1][l]), larger(lane[2][l], lane[3][l]));
  return fold_lanes(lane[0], larger);
}

/// Writes out[j] = 2^(factor * row[j] - shift), and zeros up to whole lanes. Returns the sum.
template <class C>
float exponentials(const float* row, int64_t numel, float factor, float shift, C* out) {
  Lanes lane = {};
  const auto put_lanes = [&](int64_t first, int64_t visible) {
    Lanes value;
#pragma omp simd
    for (int l = 0; l < kRowLanes; ++l) {
      const float power = exp2_f32(std::fma(factor, row[first + l], -shift));
      value[l] = l < int(visible) ? power : 0.0f;
    }
#pragma omp simd
    for (int64_t l = 0; l < kRowLanes; ++l) lane[l] += value[l];
    assign_lanes(out + first, value);
  };
  const int64_t whole = numel / kRowLanes * kRowLanes;
  for (int64_t j = 0; j < whole; j += kRowLanes) put_lanes(j, kRowLanes);
  if (whole < numel) put_lanes(whole, numel - whole);
  return fold_lanes(lane, [](float a, float b) { return a + b; });
}

/// Returns the divisor of scores after the cap, which acts on divided ones.
inline float divisor_after_cap(const AttentionExtents& extents) {
  return extents.cap > 0 ? 1.0f : extents.divisor();
}

/// Caps products of queries and keys in place.
inline void cap_scores(const ScoreCap& cap, int64_t numel, float* scores) {
#pragma omp simd
  for (int64_t i = 0; i < numel; ++i) scores[i] = cap(scores[i]);
}

/// Throws Error(kInternal) for first keys that are not as AttentionInputs wants them.
void require_first_keys(const AttentionExtents& extents, const int32_t* first);

/// Returns the bytes of one thread's slice.
int64_t forward_slice_bytes(const AttentionExtents& extents, Dtype compute);
int64_t backward_slice_bytes(const AttentionExtents& extents, Dtype compute);

/// Returns the bytes after the slices, for the bias gradient of each head.
int64_t bias_sums_bytes(const AttentionExtents& extents);
/// Returns the bytes after those, for gradients of keys and values that threads share.
int64_t key_sums_bytes(const AttentionExtents& extents);

/// Returns the type that tiles of `dtype` are multiplied in.
inline Dtype compute_dtype(Dtype dtype) {
  return dtype == Dtype::bf16 && multiplies(Dtype::bf16) ? Dtype::bf16 : Dtype::f32;
}

}  // namespace zero::kernels::vendor
