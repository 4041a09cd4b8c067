#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/support/elements.hpp"
#include "zero/base/dtype.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels {
namespace {

const std::string kForward = "zero::relative_bias";
const std::string kBackward = "zero::relative_bias_backward";

/// Returns the number of buckets of keys on one side of a query.
int64_t side_of(const RelativeBiasExtents& extents) {
  return extents.bidirectional ? extents.buckets / 2 : extents.buckets;
}

/// Returns the bucket of a distance on its side, in fp32, because Hugging Face's fp32 tensors turn
/// Python's factors into fp32.
int64_t bucket_of_distance(const RelativeBiasExtents& extents, int64_t distance) {
  const int64_t side = side_of(extents), exact = side / 2;
  if (distance < exact) return distance;
  const float most = float(std::log(double(extents.max_distance) / double(exact)));
  const float share = std::log(float(distance) / float(exact)) / most;
  return std::min(exact + int64_t(share * float(side - exact)), side - 1);
}

void check(const RelativeBiasExtents& extents) {
  const int64_t sides = extents.bidirectional ? 2 : 1, exact = side_of(extents) / 2;
  ZERO_REQUIRE(extents.queries > 0 && extents.keys > 0 && extents.heads > 0, "a relative bias of ",
               extents.queries, " queries, ", extents.keys, " keys and ", extents.heads,
               " heads: all must be at least 1");
  ZERO_REQUIRE(
      exact > 0 && extents.buckets % (2 * sides) == 0 && extents.buckets <= kRelativeBucketsMost,
      "a relative bias of ", extents.buckets, " buckets: choose a multiple of ", 2 * sides,
      " up to ", kRelativeBucketsMost);
  ZERO_REQUIRE(extents.max_distance > exact, "a relative bias whose distances end at ",
               extents.max_distance, " where the first ", exact, " have buckets of their own");
}

/// The first distances of all buckets, for a kernel. A device's logarithm may differ from the
/// host's.
struct Buckets {
  static constexpr int64_t kFar = std::numeric_limits<int32_t>::max();

  int32_t side, exact;
  int32_t bidirectional;
  int32_t queries, diagonals, heads;
  int32_t first[kRelativeBucketsMost / 2];  ///< distance at which bucket exact + i begins

  explicit Buckets(const RelativeBiasExtents& extents)
      : side(int32_t(side_of(extents))),
        exact(side / 2),
        bidirectional(extents.bidirectional),
        queries(int32_t(extents.queries)),
        diagonals(int32_t(extents.diagonals())),
        heads(int32_t(extents.heads)) {
    std::fill(std::begin(first), std::end(first), int32_t(kFar));
    for (int64_t i = 0; i < side - exact; ++i) first[i] = int32_t(first_of(extents, exact + i));
  }

  /// Returns the least distance of this or a later bucket. Buckets grow with the distance.
  static int64_t first_of(const RelativeBiasExtents& extents, int64_t bucket) {
    int64_t low = side_of(extents) / 2, high = extents.max_distance + 1;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (bucket_of_distance(extents, middle) >= bucket) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low <= extents.max_distance ? low : kFar;
  }

  /// Returns the least distance of a bucket of one side.
  KOKKOS_FUNCTION int64_t begin(int64_t bucket) const {
    return bucket < exact ? bucket : bucket < side ? first[bucket - exact] : kFar;
  }
  KOKKOS_FUNCTION int64_t bucket(int64_t relative) const {
    if (relative > 0 && !bidirectional) return 0;
    const int64_t distance = relative > 0 ? relative : -relative;
    int64_t found = distance < exact ? distance : exact;
    while (found + 1 < side && begin(found + 1) <= distance) ++found;
    return relative > 0 ? side + found : found;
  }
  /// Returns the diagonals of a bucket, which are consecutive.
  KOKKOS_FUNCTION Interval of_bucket(int64_t bucket) const {
    const int64_t none = queries - 1;  // the diagonal of distance 0
    Interval all;
    if (bucket >= side) {
      const int64_t distance = begin(bucket - side);
      all = {none + (distance > 0 ? distance : 1), none + begin(bucket - side + 1)};
    } else {
      all = {none - begin(bucket + 1) + 1, none - begin(bucket) + 1};
      if (bucket == 0 && !bidirectional) all.end = diagonals;
    }
    return {all.begin > 0 ? all.begin : 0, least(all.end, int64_t(diagonals))};
  }
};

template <class T>
struct Forward {
  Buckets buckets;
  const T* table;
  float* bias;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    const int64_t head = i / buckets.diagonals, diagonal = i % buckets.diagonals;
    const int64_t bucket = buckets.bucket(diagonal - (buckets.queries - 1));
    bias[i] = float(table[bucket * buckets.heads + head]);
  }
};

template <class T>
struct Backward {
  static constexpr int64_t kLanes = 8;
  Buckets buckets;
  const float* dbias;
  T* dtable;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    const int64_t bucket = i / buckets.heads, head = i % buckets.heads;
    const float* const row = dbias + head * buckets.diagonals;
    const Interval all = buckets.of_bucket(bucket);
    float lane[kLanes] = {};
    for (int64_t d = all.begin; d < all.end; ++d) lane[(d - all.begin) % kLanes] += row[d];
    for (int64_t step = kLanes / 2; step > 0; step /= 2)
      for (int64_t l = 0; l < step; ++l) lane[l] += lane[l + step];
    dtable[i] = T(lane[0]);
  }
};

}  // namespace

int64_t relative_bucket(const RelativeBiasExtents& extents, int64_t relative) {
  check(extents);
  const bool behind = relative > 0;
  if (behind && !extents.bidirectional) return 0;
  const int64_t bucket = bucket_of_distance(extents, behind ? relative : -relative);
  return behind ? side_of(extents) + bucket : bucket;
}

template <class T>
void relative_bias(Stream& stream, const RelativeBiasExtents& extents, const T* table,
                   float* bias) {
  check(extents);
  for_each_element(stream, kForward, extents.heads * extents.diagonals(),
                   Forward<T>{Buckets(extents), table, bias});
}

template <class T>
void relative_bias_backward(Stream& stream, const RelativeBiasExtents& extents, const float* dbias,
                            T* dtable) {
  check(extents);
  for_each_element(stream, kBackward, extents.buckets * extents.heads,
                   Backward<T>{Buckets(extents), dbias, dtable});
}

template void relative_bias(Stream&, const RelativeBiasExtents&, const float*, float*);
template void relative_bias(Stream&, const RelativeBiasExtents&, const bf16*, float*);
template void relative_bias(Stream&, const RelativeBiasExtents&, const f16*, float*);
template void relative_bias_backward(Stream&, const RelativeBiasExtents&, const float*, float*);
template void relative_bias_backward(Stream&, const RelativeBiasExtents&, const float*, bf16*);
template void relative_bias_backward(Stream&, const RelativeBiasExtents&, const float*, f16*);

}  // namespace zero::kernels
