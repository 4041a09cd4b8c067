#pragma once
/// Attention and its gradient on a stream of their own, and what may be expected of them.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/arrays.hpp"
#include "tests/support/attention_reference.hpp"
#include "tests/support/device_array.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/device/stream.hpp"

namespace zero::testing {

template <class T>
struct AttentionResult {
  std::vector<T> y, dqkv;
  std::vector<float> logsumexp, dbias;
};

/// What attention to another text gives.
template <class T>
struct PairedResult {
  std::vector<T> y, dq, dkv;
  std::vector<float> logsumexp, dbias;
};

/// What both directions have beside queries, keys and values; every output and the scratch
/// poisoned.
template <class T>
class AttentionPlace {
 public:
  AttentionPlace(const AttentionCase& shape, int threads)
      : shape_(shape),
        stream_(threads),
        bias_(shape.bias),
        counts_(shape.counts),
        first_(shape.first),
        y_(DeviceArray<T>::of_outputs(shape.rows() * shape.width())),
        logsumexp_(DeviceArray<float>::of_outputs(shape.rows() * shape.extents.heads)),
        dbias_(DeviceArray<float>::of_outputs(int64_t(shape.bias.size()))),
        // One element more than asked for: it must stay as it is.
        scratch_(DeviceArray<int64_t>::of_outputs(
            ceil_div<int64_t>(
                kernels::attention_scratch_bytes(shape.extents, dtype_of<T>(), threads), 8) +
            1)) {
    adopt_threads(stream_);
  }

  /// Both directions; `arrays` has the gradients of q, k and v.
  void run(kernels::AttentionInputs<T> in, const std::vector<T>& dy,
           kernels::AttentionGradArrays<T> arrays) {
    const DeviceArray<T> dy_there(dy);
    in.bias = shape_.extents.biased ? bias_.data() : nullptr;
    in.key_counts = shape_.extents.counted ? counts_.data() : nullptr;
    in.first = shape_.extents.ranged ? first_.data() : nullptr;
    kernels::attention<T>(stream_, shape_.extents, shape_.site, &shape_.inputs,
                          {in, y_.data(), logsumexp_.data(), scratch_.data()});
    stream_.wait();
    arrays.in = in;
    arrays.dy = dy_there.data();
    arrays.y = y_.data();
    arrays.logsumexp = logsumexp_.data();
    arrays.scratch = scratch_.data();
    arrays.dbias = shape_.extents.biased ? dbias_.data() : nullptr;
    kernels::attention_backward<T>(stream_, shape_.extents, shape_.site, &shape_.inputs, arrays);
    stream_.wait();
    const bool is_poisoned = !scratch_.is_unwritten();
    EXPECT_TRUE(!is_poisoned || scratch_.values().back() == -1) << "written behind the scratch";
  }

  std::vector<T> y() const { return y_.values(); }
  std::vector<float> logsumexp() const { return logsumexp_.values(); }
  std::vector<float> dbias() const { return dbias_.values(); }

 private:
  const AttentionCase& shape_;
  Stream stream_;
  DeviceArray<float> bias_;
  DeviceArray<int32_t> counts_, first_;
  DeviceArray<T> y_;
  DeviceArray<float> logsumexp_, dbias_;
  DeviceArray<int64_t> scratch_;
};

/// Self-attention in both directions.
template <class T>
AttentionResult<T> run(const AttentionCase& shape, const std::vector<T>& qkv,
                       const std::vector<T>& dy, int threads = 1) {
  AttentionPlace<T> place(shape, threads);
  const DeviceArray<T> qkv_there(qkv);
  const auto dqkv = DeviceArray<T>::of_outputs(shape.rows() * shape.packed_width());
  kernels::AttentionGradArrays<T> gradients{};
  gradients.dq = dqkv.data();
  gradients.dk = gradients.dq + shape.width();
  gradients.dv = gradients.dk + shape.key_width();
  place.run(kernels::packed_attention<T>(shape.extents, qkv_there.data()), dy, gradients);
  return {place.y(), dqkv.values(), place.logsumexp(), place.dbias()};
}

/// Attention to another text in both directions.
template <class T>
PairedResult<T> run_pair(const AttentionCase& shape, const std::vector<T>& q,
                         const std::vector<T>& kv, const std::vector<T>& dy, int threads = 1) {
  AttentionPlace<T> place(shape, threads);
  const DeviceArray<T> q_there(q), kv_there(kv);
  const auto dq = DeviceArray<T>::of_outputs(int64_t(q.size()));
  const auto dkv = DeviceArray<T>::of_outputs(int64_t(kv.size()));
  kernels::AttentionGradArrays<T> gradients{};
  gradients.dq = dq.data();
  gradients.dk = dkv.data();
  gradients.dv = dkv.data() + shape.key_width();
  place.run(kernels::paired_attention<T>(shape.extents, q_there.data(), kv_there.data()), dy,
            gradients);
  return {place.y(), dq.values(), dkv.values(), place.logsumexp(), place.dbias()};
}

/// Whether a library computes attention in T here, at least for some extents.
template <class T>
bool by_library() {
  return sizeof(T) == 2 && *kernels::attention_library() != 0;
}

/// Largest relative errors in the L2 norm.
struct AttentionBounds {
  double y, logsumexp, dqkv;
};

/// Our own kernels keep all but inputs and outputs in fp32, and y enters the gradient in its own
/// dtype. A library rounds probabilities too.
template <class T>
AttentionBounds attention_bounds() {
  constexpr double kRounding = rounding<T>();
  if (!by_library<T>()) return {2 * kRounding + 1e-6, 4 * 0x1p-23, 3 * kRounding + 1e-6};
  constexpr double kMost = dtype_of<T>() == Dtype::bf16 ? 1e-2 : 2e-3;
  return {kMost, 1e-5, kMost};
}

/// Expects of self-attention what double loops say.
template <class T>
void check(const AttentionCase& shape, int threads = 1) {
  const kernels::AttentionExtents& e = shape.extents;
  SCOPED_TRACE(text(name_of(dtype_of<T>()), " ", e.samples, " samples of ", e.length, ", ", e.heads,
                    " heads of ", e.head_width, " to ", e.heads_of_keys(), ", window ", e.window,
                    ", cap ", e.cap, e.ranged ? ", ranged" : "", e.counted ? ", counted" : "",
                    e.biased ? ", biased" : "", ", dropout ", shape.site.probability));
  auto qkv = sixteenths<T>(shape.rows() * shape.packed_width(), 1);
  for (T& value : qkv) value = T(2.0f * float(value));
  const auto dy = sixteenths<T>(shape.rows() * shape.width(), 2);
  const auto expected = attention_reference(shape, doubles(qkv), doubles(dy));
  const AttentionResult<T> got = run(shape, qkv, dy, threads);
  const AttentionBounds bounds = attention_bounds<T>();
  EXPECT_LT(relative_error(got.y, expected.y), bounds.y);
  EXPECT_LT(relative_error(got.logsumexp, expected.logsumexp), bounds.logsumexp);
  EXPECT_LT(relative_error(got.dqkv, expected.dqkv), bounds.dqkv);
  EXPECT_LT(relative_error(got.dbias, expected.dbias), bounds.dqkv);
}

}  // namespace zero::testing
