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
  int64_t real_width = 0;  ///< width without trailing zeros, which change no score; 0: all
  int64_t keys = 0;        ///< keys of a sample; 0: as many as queries
  bool causal = true;      ///< a query sees the keys up to its own place; else all
  bool biased = false;     ///< AttentionInputs::bias is set
  bool counted = false;    ///< AttentionInputs::key_counts is set
  float divide_by = 0;     ///< divisor of scores; 0: the root of a head's real width
  int64_t key_heads = 0;   ///< heads of keys and of values, which divide `heads`; 0: as many
  int64_t window = 0;      ///< most keys that a causal query sees, with its own; 0: all
  float cap = 0;           ///< limits divided scores s to cap tanh(s / cap); 0: no limit
  bool ranged = false;     ///< AttentionInputs::first is set

  ZERO_HOST_DEVICE constexpr int64_t key_length() const { return keys > 0 ? keys : length; }
  ZERO_HOST_DEVICE constexpr int64_t inner_width() const { return heads * head_width; }
  ZERO_HOST_DEVICE constexpr int64_t heads_of_keys() const {
    return key_heads > 0 ? key_heads : heads;
  }
  /// Returns the number of heads of queries that share a head of keys.
  ZERO_HOST_DEVICE constexpr int64_t queries_of_key() const { return heads / heads_of_keys(); }
  /// Returns the elements of a token's keys over all heads. Its values have as many.
  ZERO_HOST_DEVICE constexpr int64_t key_width() const { return heads_of_keys() * head_width; }
  /// Returns the number of distances between a key and a query: the biases of a head.
  ZERO_HOST_DEVICE constexpr int64_t diagonals() const { return length + key_length() - 1; }
  /// Returns the number that divides scores.
  ZERO_HOST_DEVICE float divisor() const {
    if (divide_by > 0) return divide_by;
    return std::sqrt(float(real_width > 0 ? real_width : head_width));
  }
  bool operator==(const AttentionExtents&) const = default;
};

/// Unit of head widths, in elements, of a library on a GPU in 16 bits. Other heads want zeros at
/// their ends, or our own kernels compute them.
inline constexpr int64_t kDeviceHeadUnit = 8;

/// Returns the bytes of scratch that attention() and attention_backward() need for these extents,
/// on arrays of `dtype` with `threads` threads. On a GPU they suffice for the library and our own
/// kernels.
int64_t attention_scratch_bytes(const AttentionExtents& extents, Dtype dtype, int threads);

/// Prepares the products of attention() with these extents on arrays of `dtype`, or if `backward`,
/// those of attention_backward(). See prepare_product(). Does nothing on a GPU.
void prepare_attention(const AttentionExtents& extents, Dtype dtype, bool backward);

/// The rules for attention by a library of a GPU.
struct AttentionRules {
  /// True: the backward pass adds in a fixed order. False: it adds gradients as they come, and two
  /// calls with the same operands differ in their last bits.
  bool deterministic = true;
};

/// Sets the rules for attention called from now on. They belong to the record of arithmetic
/// choices. Our own kernels, all that the host has, are always deterministic.
void set_attention_rules(const AttentionRules& rules);

/// Returns name and version of the attention library found at run time, "cuDNN 9.19.0", for the
/// record of arithmetic choices. "" if all attention is our own.
const char* attention_library();

/// The inputs of both directions. Rows of q, k and v may lie further apart than they are wide.
template <class T>
struct AttentionInputs {
  const T* q;         ///< [samples * length, inner width], heads side by side
  const T *k, *v;     ///< [samples * keys, key width]
  int64_t q_stride;   ///< elements from row to row of q
  int64_t kv_stride;  ///< elements from row to row of k and v
  /// Bias [heads, diagonals()], added to the divided scores: element length - 1 + key - query.
  const float* bias = nullptr;
  /// Keys of each sample that are no padding, [samples], 0 to keys. Our kernels do not read
  /// padding; a library multiplies it by zero, so it must be finite. A sample without keys gets
  /// zeros for y and logsumexp.
  const int32_t* key_counts = nullptr;
  /// First key that each query may see, [samples * length], counted in its sample: 0 to its own
  /// place, never less than that of the query before. A causal query of place p sees the keys
  /// max(first, p - window + 1) .. p.
  const int32_t* first = nullptr;
};

/// Returns the inputs of self-attention as pointers into qkv [samples * length, inner width + 2 *
/// key width], whose rows hold q, k, v side by side.
template <class T>
AttentionInputs<T> packed_attention(const AttentionExtents& extents, const T* qkv) {
  const int64_t inner = extents.inner_width(), keys = extents.key_width();
  return {.q = qkv,
          .k = qkv + inner,
          .v = qkv + inner + keys,
          .q_stride = inner + 2 * keys,
          .kv_stride = inner + 2 * keys};
}

/// Returns the inputs of attention of q [samples * length, inner width] to the rows of kv [samples
/// * keys, 2 * key width], which hold k, v side by side.
template <class T>
AttentionInputs<T> paired_attention(const AttentionExtents& extents, const T* q, const T* kv) {
  const int64_t width = extents.key_width();
  return {
      .q = q, .k = kv, .v = kv + width, .q_stride = extents.inner_width(), .kv_stride = 2 * width};
}

template <class T>
struct AttentionArrays {
  AttentionInputs<T> in;
  T* y;              ///< [samples * length, inner width], written
  float* logsumexp;  ///< [samples, heads, length], written, kept for the backward pass
  void* scratch;
};

/// Writes y = softmax(q k^T / divisor + bias) v, block by block with an online softmax, without
/// storing a matrix of scores. Dropout of `site`, in the step of `inputs`, acts on the normalised
/// probabilities, as element (head * length + query) * round_up(keys, 4) + key of the sample.
/// Statistics are fp32. Deterministic for the same extents. Asynchronous on `stream`.
///
/// A library may compute 16-bit dtypes on a GPU. Its masks are not the host's. They depend on seed,
/// site, first sample of the micro-batch and extents, so ranks and recomputation do not change
/// them. The library rounds a bias to T, and the bias gradient of each score before summing.
/// REQUIRES: with a library, addresses are multiples of 16 bytes. Throws Error(kInternal) if
/// extents and arrays do not fit: a causal query needs a key in its own place. Source: Dao et al.
/// 2022 (arXiv:2205.14135), algorithm 1; Vaswani et al. 2017, eq. 1; Raffel et al. 2020
/// (arXiv:1910.10683), section 2.1, for the bias.
template <class T>
void attention(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
               const StepInputs* inputs, const AttentionArrays<T>& arrays);

template <class T>
struct AttentionGradArrays {
  AttentionInputs<T> in;
  const T* dy;             ///< [samples * length, inner width]
  const T* y;              ///< [samples * length, inner width]
  const float* logsumexp;  ///< [samples, heads, length]
  T *dq, *dk, *dv;         ///< laid out as q, k, v, written; zeros for padding
  void* scratch;
  float* dbias = nullptr;  ///< laid out as bias, written: summed over samples
};

/// Writes the gradients of attention() for q, k, v and the bias, with the extents, site and inputs
/// of that call. Recomputes probabilities from logsumexp and masks from the counter. Deterministic
/// if set_attention_rules() says so. The bias gradient always adds in an order that follows from
/// the extents. Asynchronous on `stream`. Source: Dao et al. 2022, algorithm 4.
template <class T>
void attention_backward(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
                        const StepInputs* inputs, const AttentionGradArrays<T>& arrays);

/// The widths of heads that lie one after the other, before (`from`) and after (`to`) a resize.
struct HeadWidths {
  int64_t heads;  ///< heads of all rows
  int64_t from, to;
};

/// Widens or narrows heads: writes to[h, j] = from[h, j], or 0 where `from` has no column j. Leaves
/// out columns beyond those of `to`. from [heads, widths.from], to [heads, widths.to]; T is float,
/// bf16 or f16. Asynchronous on `stream`.
template <class T>
void resize_heads(Stream& stream, const HeadWidths& widths, const T* from, T* to);

/// The extents of a relative position bias: a number for each head and each bucket of distances.
struct RelativeBiasExtents {
  int64_t queries, keys;
  int64_t buckets;
  int64_t heads;
  int64_t max_distance;  ///< distances from here on share the last bucket of their side
  bool bidirectional;    ///< keys after the query have the second half of the buckets

  /// Returns the number of distances between these keys and queries.
  int64_t diagonals() const { return queries + keys - 1; }
};

/// Returns the bucket in a table of `extents` for a key that lies `relative` places after its
/// query. Half of a side's buckets have one distance each. The others grow with its logarithm,
/// computed in fp32 in Hugging Face's order. Unless bidirectional, keys after the query count as
/// its own place. Source: Raffel et al. 2020 (arXiv:1910.10683), section 2.1.
int64_t relative_bucket(const RelativeBiasExtents& extents, int64_t relative);

/// Writes the bias of each head and diagonal d from its table of buckets: bias[head, d] =
/// table[bucket of relative place d - (queries - 1), head].
///   table [extents.buckets, extents.heads], bias [extents.heads, extents.diagonals()], fp32
/// T, the type of the table, is float, bf16 or f16. Asynchronous on `stream`. Throws
/// Error(kInternal) for buckets that do not split, or more of them than kRelativeBucketsMost.
template <class T>
void relative_bias(Stream& stream, const RelativeBiasExtents& extents, const T* table, float* bias);

/// Writes the gradient of relative_bias(), laid out as its arrays: dtable[bucket, head] = the sum
/// of dbias[head, d] over the diagonals of the bucket, in fp32 and in a fixed order, rounded once.
/// 0 for a bucket without diagonals. Asynchronous on `stream`.
template <class T>
void relative_bias_backward(Stream& stream, const RelativeBiasExtents& extents, const float* dbias,
                            T* dtable);

/// Maximum buckets of a table for relative_bias().
inline constexpr int64_t kRelativeBucketsMost = 128;

}  // namespace zero::kernels
