#pragma once
/// Attention and its gradient on a stream of their own, and what may be expected of them.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/attention_reference.hpp"
#include "tests/support/device_array.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/device/stream.hpp"

namespace zero::testing {

template <class T>
struct AttentionResult {
  std::vector<T> y, dqkv;
  std::vector<float> logsumexp;
};

/// Both directions, every output and the scratch poisoned first.
template <class T>
AttentionResult<T> run(const AttentionCase& shape, const std::vector<T>& qkv,
                       const std::vector<T>& dy, int threads = 1) {
  Stream stream(threads);
  adopt_threads(stream);
  const DeviceArray<T> qkv_there(qkv), dy_there(dy);
  const auto y = DeviceArray<T>::of_outputs(shape.rows() * shape.width());
  const auto dqkv = DeviceArray<T>::of_outputs(shape.rows() * 3 * shape.width());
  const auto logsumexp = DeviceArray<float>::of_outputs(shape.rows() * shape.extents.heads);
  const int64_t bytes = kernels::attention_scratch_bytes(shape.extents, dtype_of<T>(), threads);
  // One element more than asked for: it must stay as it is.
  const auto scratch = DeviceArray<int64_t>::of_outputs(bytes / 8 + 1);
  kernels::attention<T>(stream, shape.extents, shape.site, &shape.inputs,
                        {qkv_there.data(), y.data(), logsumexp.data(), scratch.data()});
  stream.wait();
  kernels::attention_backward<T>(
      stream, shape.extents, shape.site, &shape.inputs,
      {dy_there.data(), y.data(), qkv_there.data(), logsumexp.data(), dqkv.data(), scratch.data()});
  stream.wait();
  const bool is_poisoned = !scratch.is_unwritten();
  EXPECT_TRUE(!is_poisoned || scratch.values().back() == -1) << "written behind the scratch";
  return {y.values(), dqkv.values(), logsumexp.values()};
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

}  // namespace zero::testing
