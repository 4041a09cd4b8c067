#pragma once
/// A relative position bias: a number for each head and each bucket of distances.

#include <cstdint>

#include "zero/device/stream.hpp"

namespace zero::kernels {

struct RelativeBiasExtents {
  int64_t queries, keys;
  int64_t buckets;
  int64_t heads;
  int64_t max_distance;  ///< distances from here on share the last bucket of their side
  bool bidirectional;    ///< keys behind the query have the second half of the buckets

  int64_t diagonals() const { return queries + keys - 1; }
};

/// The bucket of a key that lies `relative` places behind its query. Half of a side's buckets are
/// for one distance each; the others grow with its logarithm, computed in fp32 in Hugging Face's
/// order. Where the buckets are not bidirectional, keys behind the query count as its own place.
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

inline constexpr int64_t kRelativeBucketsMost = 256;

}  // namespace zero::kernels
