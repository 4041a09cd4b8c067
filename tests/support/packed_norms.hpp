#pragma once
/// Norms of the heads in packed rows with all their arrays, and the same in double loops.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/arrays.hpp"
#include "tests/support/rms_reference.hpp"
#include "zero/kernels/head_norm.hpp"

namespace zero::testing {

template <class T>
struct PackedNorms {
  kernels::HeadNormExtents of;
  float offset;
  std::vector<T> x, query, key, dy, y, dx, dquery, dkey;
  std::vector<float> rrms, scratch;

  PackedNorms(const kernels::HeadNormExtents& extents, float added)
      : of(extents),
        offset(added),
        x(noise<T>(of.packed.rows * of.packed.columns(), 1, 2.0)),
        query(noise<T>(of.query_width(), 2)),
        key(noise<T>(of.key_width(), 3)),
        dy(noise<T>(int64_t(x.size()), 4)),
        y(x.size()),
        dx(x.size()),
        dquery(query.size()),
        dkey(key.size()),
        rrms(size_t(of.packed.rows * of.norms())),
        scratch(size_t(kernels::head_norm_scratch_numel(of))) {}

  kernels::HeadNormArrays<T> forward_arrays(float epsilon) {
    return {.x = x.data(),
            .query_weight = query.data(),
            .key_weight = key.data(),
            .y = y.data(),
            .rrms = rrms.data(),
            .epsilon = epsilon,
            .offset = offset};
  }
  kernels::HeadNormGradArrays<T> backward_arrays() {
    return {.dy = dy.data(),
            .x = x.data(),
            .query_weight = query.data(),
            .key_weight = key.data(),
            .rrms = rrms.data(),
            .dx = dx.data(),
            .dquery_weight = dquery.data(),
            .dkey_weight = dkey.data(),
            .scratch = scratch.data(),
            .offset = offset};
  }

  void expect_doubles(double epsilon) const {
    Doubles forward = doubles(x), backward = doubles(dy);
    const Doubles dqueries = add_norms(epsilon, true, forward, backward);
    const Doubles dkeys = add_norms(epsilon, false, forward, backward);
    const double tolerance = rounding<T>() + 2e-6;
    EXPECT_LT(relative_error(y, forward), tolerance);
    EXPECT_LT(relative_error(dx, backward), tolerance);
    EXPECT_LT(relative_error(dquery, dqueries), tolerance);
    EXPECT_LT(relative_error(dkey, dkeys), tolerance);
  }

 private:
  /// Replaces the columns of queries, or of keys, by their norms and gradients. Returns the
  /// weight's gradient.
  Doubles add_norms(double epsilon, bool queries, Doubles& forward, Doubles& backward) const {
    const std::vector<T>& from = queries ? query : key;
    const size_t width = from.size(), columns = size_t(of.packed.columns());
    const size_t begin = queries ? 0 : size_t(of.packed.heads * of.packed.head_width);
    const size_t heads = size_t(queries ? of.packed.heads : of.packed.key_heads);
    const size_t end = begin + heads * size_t(of.packed.head_width);
    Doubles weight = doubles(from), sum(width);
    for (double& w : weight) w += double(offset);
    for (size_t r = 0; r < size_t(of.packed.rows); ++r) {
      for (size_t first = r * columns + begin; first < r * columns + end; first += width) {
        const auto part = [&](const Doubles& all) {
          return Doubles(all.begin() + ptrdiff_t(first), all.begin() + ptrdiff_t(first + width));
        };
        const RmsNorm norm{width, epsilon, part(forward), weight};
        const auto gradients = norm.backward(part(backward));
        std::ranges::copy(norm.forward(), forward.begin() + ptrdiff_t(first));
        std::ranges::copy(gradients.dx, backward.begin() + ptrdiff_t(first));
        for (size_t j = 0; j < width; ++j) sum[j] += gradients.dweight[j];
      }
    }
    return sum;
  }
};

}  // namespace zero::testing
