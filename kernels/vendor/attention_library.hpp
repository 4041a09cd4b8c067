#pragma once
/// The work around a library's call. In front of it: numbers for masks, lengths of samples, and the
/// bias as a number for each score. Behind it: the bias gradient comes back to diagonals, and
/// promised zeros are written. The library is told one key of a sample without keys, so its results
/// are cleared.

#include "kernels/support/row_chunks.hpp"
#include "kernels/support/warp_runs.hpp"
#include "kernels/vendor/attention_problem.hpp"

namespace zero::kernels::vendor {

/// Writes attention_dropout() of this micro-batch to *dropout. Asynchronous on `stream`.
void write_dropout(Stream& stream, const DropoutSite& site, const StepInputs* inputs,
                   AttentionDropout* dropout);

struct SampleLengths {
  int32_t *queries, *keys;  ///< [samples] each
};

/// Writes the number of queries and keys of each sample: all of them, or as `key_counts` say,
/// [samples] or null. A sample without keys has one query and one key. Asynchronous on `stream`.
void write_lengths(Stream& stream, const AttentionExtents& extents, const int32_t* key_counts,
                   const SampleLengths& lengths);

template <class T>
struct QueryRows {
  T* first;  ///< [samples * length] rows of the inner width
  int64_t stride;
  float* logsumexp = nullptr;  ///< [samples, heads, length], or null
};

/// Writes zeros to rows of samples without keys. Asynchronous on `stream`.
template <class T>
void clear_blind_queries(Stream& stream, const AttentionExtents& extents, const int32_t* key_counts,
                         const QueryRows<T>& rows);

template <class T>
struct KeyRows {
  T *dk, *dv;  ///< [samples * keys] rows of the key width each
  int64_t stride;
};

/// Writes zeros to rows of keys that are padding. Asynchronous on `stream`.
template <class T>
void clear_padding(Stream& stream, const AttentionExtents& extents, const int32_t* key_counts,
                   const KeyRows<T>& rows);

// The bias and its gradient, as one block of GPU threads computes them. Templates over the block,
// so the host can test them.

/// The bias spread over scores. A block writes one query of one head.
template <class T>
struct SpreadBias {
  static constexpr int kThreads = 2 * kWarpLanes;
  AttentionExtents extents;
  const float* bias;  ///< [heads, diagonals]
  T* full;            ///< [heads, queries, keys], written

  int64_t blocks() const { return extents.heads * extents.length; }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const int64_t head = block.index() / extents.length, query = block.index() % extents.length;
    const int64_t keys = extents.key_length();
    const float* const of_key = bias + head * extents.diagonals() + extents.length - 1 - query;
    T* const to = full + block.index() * keys;
    for (int64_t key = block.thread(); key < keys; key += kThreads) to[key] = T(of_key[key]);
  }
};

/// The bias gradient as sums along diagonals. A block has a diagonal a lane. Each warp adds some
/// queries, the first sample's first, and the block adds its warps, so the order follows from the
/// extents alone. Does not read scores that no query sees, for padding or behind a causal query.
template <class T>
struct SumDiagonals {
  static constexpr int kWarps = 8, kThreads = kWarps * kWarpLanes;
  static constexpr int64_t kSharedNumel = kThreads;
  AttentionExtents extents;
  const int32_t* key_counts;  ///< [samples], or null
  const T* full;              ///< [samples, heads, queries, keys]
  float* dbias;               ///< [heads, diagonals], written

  ZERO_HOST_DEVICE int64_t tiles() const {
    return ceil_div<int64_t>(extents.diagonals(), kWarpLanes);
  }
  int64_t blocks() const { return extents.heads * tiles(); }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const int64_t head = block.index() / tiles();
    const int64_t diagonal = block.index() % tiles() * kWarpLanes + block.lane();
    float sum = 0.0f;
    for (int64_t sample = 0; sample < extents.samples; ++sample)
      sum = add_sample(block, sample * extents.heads + head, keys_of(sample), sum);
    float* const shared = block.shared();
    shared[block.thread()] = sum;
    block.sync();
    if (block.warp() > 0 || diagonal >= extents.diagonals()) return;
    for (int warp = 1; warp < kWarps; ++warp) sum += shared[warp * kWarpLanes + block.lane()];
    dbias[head * extents.diagonals() + diagonal] = sum;
  }

 private:
  ZERO_DEVICE_ONLY int64_t keys_of(int64_t sample) const {
    return key_counts ? least(key_counts[sample], extents.key_length()) : extents.key_length();
  }
  /// Adds one sample's scores. All lanes begin at the first query that the block's diagonals touch.
  template <class Block>
  ZERO_DEVICE_ONLY float add_sample(const Block& block, int64_t matrix, int64_t keys,
                                    float sum) const {
    const int64_t first = block.index() % tiles() * kWarpLanes - (extents.length - 1);
    const int64_t last = first + kWarpLanes - 1, relative = first + block.lane();
    if (extents.causal && relative > 0) return sum;
    const int64_t begin = last < 0 ? -last : 0, end = least(extents.length, keys - first);
    const int64_t stride = extents.key_length();
    const T* const scores = full + matrix * extents.length * stride;
    for (int64_t query = begin + block.warp(); query < end; query += kWarps) {
      const int64_t key = query + relative;
      if (key >= 0 && key < keys) sum += float(scores[query * stride + key]);
    }
    return sum;
  }
};

}  // namespace zero::kernels::vendor
