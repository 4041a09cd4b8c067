#pragma once

#include <cmath>
#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/dropout.hpp"

namespace zero::kernels {

struct AttentionExtents {
  int64_t samples;
  int64_t length;
  int64_t heads;
  int64_t head_width;      ///< any; width = heads * head_width
  int64_t real_width = 0;  ///< of a head without zeros at its end, which change no score; 0: all

  /// What scores are divided by.
  ZERO_HOST_DEVICE float divisor() const {
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

template <class T>
struct AttentionArrays {
  const T* qkv;      ///< [samples * length, 3 * width]: q, k, v side by side, heads inside each
  T* y;              ///< [samples * length, width], written
  float* logsumexp;  ///< [samples, heads, length], written, kept for the backward pass
  void* scratch;
};

/// Causal self-attention, softmax(q k^T / sqrt(width of a head)) v, block by block with an online
/// softmax: no length x length matrix is stored. Dropout acts on the normalised probabilities;
/// element (head * length + query) * round_up(length, 4) + key of the sample. Statistics in fp32.
/// Deterministic for the same extents and threads. Asynchronous on `stream`.
///
/// Where a library computes it (16-bit dtypes on a GPU) masks are the library's: the same for the
/// same seed, site, first sample of the micro-batch and extents, so on any number of ranks and when
/// it is computed again, but not the host's. Addresses are multiples of 16 bytes there.
/// Source: Dao et al. 2022 (arXiv:2205.14135), algorithm 1; Vaswani et al. 2017, eq. 1.
template <class T>
void attention(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
               const StepInputs* inputs, const AttentionArrays<T>& arrays);

template <class T>
struct AttentionGradArrays {
  const T* dy;             ///< [samples * length, width]
  const T* y;              ///< [samples * length, width]
  const T* qkv;            ///< [samples * length, 3 * width]
  const float* logsumexp;  ///< [samples, heads, length]
  T* dqkv;                 ///< [samples * length, 3 * width], written
  void* scratch;
};

/// Gradient of attention; probabilities are recomputed from logsumexp, masks from the counter.
/// Deterministic where set_attention_rules() says so.
/// Asynchronous on `stream`. Source: Dao et al. 2022, algorithm 4.
template <class T>
void attention_backward(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
                        const StepInputs* inputs, const AttentionGradArrays<T>& arrays);

/// Heads that lie behind each other, before and after.
struct HeadWidths {
  int64_t heads;  ///< of all rows
  int64_t from, to;
};

/// to[h, j] = from[h, j], or 0 where `from` has no column j; columns beyond those of `to` are left
/// behind. from [heads, widths.from], to [heads, widths.to]; T is float, bf16 or f16. Asynchronous
/// on `stream`.
template <class T>
void resize_heads(Stream& stream, const HeadWidths& widths, const T* from, T* to);

}  // namespace zero::kernels
