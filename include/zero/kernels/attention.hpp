#pragma once

#include <cmath>
#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/dropout.hpp"

namespace zero::kernels {

struct AttentionExtents {
  int64_t samples;
  int64_t length;  ///< queries of a sample
  int64_t heads;
  int64_t head_width;      ///< any; the inner width is heads * head_width
  int64_t real_width = 0;  ///< of a head without zeros at its end, which change no score; 0: all
  int64_t keys = 0;        ///< of a sample; 0: as many as queries
  bool causal = true;      ///< a query sees the keys up to its own place; else all
  bool biased = false;     ///< AttentionInputs::bias is there
  bool counted = false;    ///< AttentionInputs::key_counts is there
  float divide_by = 0;     ///< what scores are divided by; 0: the root of a head's real width

  ZERO_HOST_DEVICE constexpr int64_t key_length() const { return keys > 0 ? keys : length; }
  ZERO_HOST_DEVICE constexpr int64_t inner_width() const { return heads * head_width; }
  ZERO_HOST_DEVICE constexpr int64_t diagonals() const { return length + key_length() - 1; }
  ZERO_HOST_DEVICE float divisor() const {
    if (divide_by > 0) return divide_by;
    return std::sqrt(float(real_width > 0 ? real_width : head_width));
  }
  bool operator==(const AttentionExtents&) const = default;
};

/// A library on a GPU has heads of multiples of this many elements in 16 bits. Others want zeros at
/// their ends, or our own kernels compute them.
inline constexpr int64_t kDeviceHeadUnit = 8;

/// Bytes of scratch that either direction wants, for `threads` threads. On a GPU they hold for a
/// library's way and for our own.
int64_t attention_scratch_bytes(const AttentionExtents& extents, Dtype dtype, int threads);

/// Makes the kernels of products that attention() of these extents, or with `backward` its
/// gradient, is made of: prepare_product(). Nothing on a GPU.
void prepare_attention(const AttentionExtents& extents, Dtype dtype, bool backward);

/// How a library of a GPU may compute it.
struct AttentionRules {
  /// Sums of the backward pass have a fixed order; else gradients are added as they come, and two
  /// calls with the same operands differ in their last bits.
  bool deterministic = true;
};

/// For attention that is called from now on; the rules belong to the record of arithmetic choices.
/// Our own kernels, all that the host has, are deterministic anyway.
void set_attention_rules(const AttentionRules& rules);

/// The library that computes attention where it can, found while running, for the record of
/// arithmetic choices: "cuDNN 9.19.0"; "" where all of it is our own.
const char* attention_library();

/// What both directions read. Rows of q, k and v may lie further apart than they are wide.
template <class T>
struct AttentionInputs {
  const T* q;         ///< [samples * length, inner width], heads side by side
  const T *k, *v;     ///< [samples * keys, inner width]
  int64_t q_stride;   ///< elements from one row of q to the next
  int64_t kv_stride;  ///< and of k and of v
  /// [heads, diagonals()], added to the divided scores: element length - 1 + key - query.
  const float* bias = nullptr;
  /// [samples], 0 to keys: keys from there on are padding, which is not read, or by a library is
  /// multiplied by zero and so must be finite. A sample of none has zeros for y and logsumexp.
  const int32_t* key_counts = nullptr;
};

/// Self-attention of qkv [samples * length, 3 * inner width]: q, k, v side by side.
template <class T>
AttentionInputs<T> packed_attention(const AttentionExtents& extents, const T* qkv) {
  const int64_t width = extents.inner_width();
  return {.q = qkv,
          .k = qkv + width,
          .v = qkv + 2 * width,
          .q_stride = 3 * width,
          .kv_stride = 3 * width};
}

/// Attention of q [samples * length, inner width] to kv [samples * keys, 2 * inner width]: k, v
/// side by side.
template <class T>
AttentionInputs<T> paired_attention(const AttentionExtents& extents, const T* q, const T* kv) {
  const int64_t width = extents.inner_width();
  return {.q = q, .k = kv, .v = kv + width, .q_stride = width, .kv_stride = 2 * width};
}

template <class T>
struct AttentionArrays {
  AttentionInputs<T> in;
  T* y;              ///< [samples * length, inner width], written
  float* logsumexp;  ///< [samples, heads, length], written, kept for the backward pass
  void* scratch;
};

/// Softmax(q k^T / divisor + bias) v, block by block with an online softmax: no matrix of scores is
/// stored. Dropout acts on the normalised probabilities; element (head * length + query) *
/// round_up(keys, 4) + key of the sample. Statistics in fp32. Deterministic for the same extents.
/// Asynchronous on `stream`.
///
/// Where a library computes it (16-bit dtypes on a GPU) masks are the library's. They are the same
/// for the same seed, site, first sample of the micro-batch and extents, so on any number of ranks
/// and when it is computed again. They are not the host's. A bias is rounded to T there, as is its
/// gradient for each score before it is summed. Addresses are multiples of 16 bytes there.
/// Throws Error(kInternal) where extents and arrays do not fit: a causal query has a key of its
/// own. Source: Dao et al. 2022 (arXiv:2205.14135), algorithm 1; Vaswani et al. 2017, eq. 1; Raffel
/// et al. 2020 (arXiv:1910.10683), section 2.1, for the bias.
template <class T>
void attention(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
               const StepInputs* inputs, const AttentionArrays<T>& arrays);

template <class T>
struct AttentionGradArrays {
  AttentionInputs<T> in;
  const T* dy;             ///< [samples * length, inner width]
  const T* y;              ///< [samples * length, inner width]
  const float* logsumexp;  ///< [samples, heads, length]
  T *dq, *dk, *dv;         ///< as q, k and v lie, written; zeros for padding
  void* scratch;
  float* dbias = nullptr;  ///< as bias lies, written: summed over samples
};

/// Gradient of attention; probabilities are recomputed from logsumexp, masks from the counter.
/// Deterministic where set_attention_rules() says so; the bias's always, in an order that follows
/// from the extents alone.
/// Asynchronous on `stream`. Source: Dao et al. 2022, algorithm 4.
template <class T>
void attention_backward(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
                        const StepInputs* inputs, const AttentionGradArrays<T>& arrays);

/// Heads that lie one after the other, before and after.
struct HeadWidths {
  int64_t heads;  ///< of all rows
  int64_t from, to;
};

/// to[h, j] = from[h, j], or 0 where `from` has no column j; columns beyond those of `to` are left
/// out. from [heads, widths.from], to [heads, widths.to]; T is float, bf16 or f16. Asynchronous on
/// `stream`.
template <class T>
void resize_heads(Stream& stream, const HeadWidths& widths, const T* from, T* to);

/// A relative position bias: a number for each head and each bucket of distances.
struct RelativeBiasExtents {
  int64_t queries, keys;
  int64_t buckets;
  int64_t heads;
  int64_t max_distance;  ///< distances from here on share the last bucket of their side
  bool bidirectional;    ///< keys after the query have the second half of the buckets

  int64_t diagonals() const { return queries + keys - 1; }
};

/// The bucket of a key that lies `relative` places after its query. Half of a side's buckets are
/// for one distance each; the others grow with its logarithm, computed in fp32 in Hugging Face's
/// order. Where the buckets are not bidirectional, keys after the query count as its own place.
/// Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1.
int64_t relative_bucket(const RelativeBiasExtents& extents, int64_t relative);

/// bias[head, d] = table[bucket of relative place d - (queries - 1), head]
///   table [buckets, heads], bias [heads, diagonals()]
/// T is float, bf16 or f16. Asynchronous on `stream`. Throws Error(kInternal) for buckets that do
/// not split, or more of them than kRelativeBucketsMost.
template <class T>
void relative_bias(Stream& stream, const RelativeBiasExtents& extents, const T* table, float* bias);

/// dtable[bucket, head] = the sum of dbias[head, d] over the diagonals of the bucket, in fp32 and
/// in a fixed order, rounded once; 0 for a bucket without any.
template <class T>
void relative_bias_backward(Stream& stream, const RelativeBiasExtents& extents, const float* dbias,
                            T* dtable);

inline constexpr int64_t kRelativeBucketsMost = 128;

}  // namespace zero::kernels
