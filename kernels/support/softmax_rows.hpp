#pragma once
/// Softmax cross-entropy of a row of logits and, in place, its gradient. A thread of the host keeps
/// the exponentials in place until their sum is known. A team of the device waits for memory, so it
/// computes them twice: it reads the logits twice and writes the gradient once. softmax_block.hpp
/// reads rows that registers hold once.

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "kernels/support/rows.hpp"
#include "kernels/support/softmax_block.hpp"

namespace zero::kernels {

inline constexpr int kSoftmaxThreads = 256;
/// Numbers that a thread has under way at once.
inline constexpr int kLogitsAtOnce = 8;

/// Returns a row's softmax, and replaces its products by exponentials; by logits if these are
/// capped, because their slopes need them.
template <class Loss>
KOKKOS_INLINE_FUNCTION RowSoftmax softmax_of(const HostRow& row, const Loss& loss, float* x,
                                             int64_t count) {
  if constexpr (Loss::kOptions) row.for_each(count, [=](int64_t j) { x[j] = loss.logit(x[j], j); });
  const float most = row.maximum(count, [=](int64_t j) { return x[j]; });
  float below = 0.0f;
  if constexpr (Loss::kOptions)
    below = row.sum<float>(count, [=](int64_t j) { return most - x[j]; });
  const float sum = row.sum<float>(count, [=](int64_t j) {
    const float exponential = exp_f32(x[j] - most);
    if constexpr (!Loss::kCapped) x[j] = exponential;
    return exponential;
  });
  return {most, sum, below};
}

/// Adds kLogitsAtOnce logits. A sum begins with the lowest finite number as the largest, beside
/// which a logit of minus infinity vanishes.
KOKKOS_INLINE_FUNCTION void add_to(RowSoftmax& softmax, const float* x) {
  const float before = softmax.most;
  for (int k = 0; k < kLogitsAtOnce; ++k) softmax.most = softmax.most < x[k] ? x[k] : softmax.most;
  softmax.sum *= exp_f32(before - softmax.most);
  for (int k = 0; k < kLogitsAtOnce; ++k) softmax.sum += exp_f32(x[k] - softmax.most);
}

/// Returns a row's softmax, and leaves its products as they are.
template <class Loss>
KOKKOS_INLINE_FUNCTION RowSoftmax softmax_of(const TeamRow& row, const Loss& loss, const float* x,
                                             int64_t count) {
  const int64_t threads = row.member.team_size();
  RowSoftmax own{-FLT_MAX, 0.0f};
  double total = 0.0;  // sum of logits, from which `below` follows
  for (int64_t j = row.member.team_rank(); j < count; j += kLogitsAtOnce * threads) {
    float logit[kLogitsAtOnce];
    for (int k = 0; k < kLogitsAtOnce; ++k) {
      const int64_t at = j + k * threads;
      logit[k] = at < count ? loss.logit(x[at], at) : -INFINITY;
      if constexpr (Loss::kOptions) total += at < count ? double(logit[k]) : 0.0;
    }
    add_to(own, logit);
  }
  RowSoftmax all = own;
  row.member.team_reduce(Kokkos::Max<float>(all.most));
  all.sum *= exp_f32(own.most - all.most);
  row.member.team_reduce(Kokkos::Sum<float>(all.sum));
  if constexpr (Loss::kOptions) {
    row.member.team_reduce(Kokkos::Sum<double>(total));
    all.below = float(double(count) * double(all.most) - total);
  }
  return all;
}

template <class T>
KOKKOS_INLINE_FUNCTION void store(std::byte* row, int64_t j, float value) {
  const T rounded(value);
  std::memcpy(row + j * int64_t(sizeof(T)), &rounded, sizeof(T));
}

// A narrower gradient overwrites only numbers before those it is made of. So it suffices to read a
// stretch before writing any of it.

/// Returns the gradient of class j by its product. `logit` is unused unless logits are capped.
template <class Loss>
KOKKOS_INLINE_FUNCTION float gradient_at(const RowGradient<Loss>& gradient, const Loss& loss,
                                         int64_t j, float exponential, float logit) {
  if constexpr (Loss::kCapped) {
    if (!gradient.counted || j >= gradient.vocabulary) return 0.0f;
    return gradient.of_class(exponential) * loss.slope(logit);
  }
  return gradient(j, exponential);
}

/// Writes a row's gradient where the row holds exponentials, or capped logits.
template <class T, class Loss>
KOKKOS_INLINE_FUNCTION void write_gradient(const HostRow&, const RowTarget<Loss>& target,
                                           const RowGradient<Loss>& given, float most,
                                           std::byte* row) {
  const RowGradient<Loss> gradient = given;  // stores to bytes may change what is not local
  const Loss loss = target.loss;
  constexpr int64_t kStretch = 2048;
  float stretch[kStretch];
  for (int64_t first = 0; first < gradient.padded_vocabulary; first += kStretch) {
    const int64_t count = least(kStretch, gradient.padded_vocabulary - first);
    std::memcpy(stretch, row + first * int64_t(sizeof(float)), size_t(count) * sizeof(float));
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) {
      const float held = stretch[j];
      const float exponential = Loss::kCapped ? exp_f32(held - most) : held;
      store<T>(row, first + j, gradient_at(gradient, loss, first + j, exponential, held));
    }
  }
  if (gradient.target >= 0) store<T>(row, gradient.target, gradient.at_target);
}

/// Writes a row's gradient where the row holds logits. Uses typed pointers, because a GPU copies
/// slowly byte by byte, as memcpy must.
template <class T, class Loss>
KOKKOS_INLINE_FUNCTION void write_gradient(const TeamRow& row, const RowTarget<Loss>& target,
                                           const RowGradient<Loss>& gradient, float most,
                                           std::byte* memory) {
  const int64_t threads = row.member.team_size(), columns = gradient.padded_vocabulary;
  const auto* const x = reinterpret_cast<const float*>(memory);
  auto* const to = reinterpret_cast<T*>(memory);
  for (int64_t first = 0; first < columns; first += kLogitsAtOnce * threads) {
    const int64_t j = first + row.member.team_rank();
    float value[kLogitsAtOnce];
    for (int k = 0; k < kLogitsAtOnce; ++k) {
      const int64_t at = j + k * threads;
      const bool is_class = at < gradient.vocabulary;
      const float logit = is_class ? target.loss.logit(x[at], at) : 0.0f;
      const float exponential = is_class ? exp_f32(logit - most) : 0.0f;
      value[k] = at == gradient.target ? gradient.at_target
                                       : gradient_at(gradient, target.loss, at, exponential, logit);
    }
    row.barrier();
    for (int k = 0; k < kLogitsAtOnce; ++k)
      if (j + k * threads < columns) to[j + k * threads] = T(value[k]);
  }
}

/// Softmax cross-entropy of row r and, in place, its gradient.
template <class T, class Loss = PlainLoss>
struct SoftmaxCrossEntropy {
  Logits logits;
  LossRows rows;
  bool gradient;
  Loss loss = {};

  template <class Row>
  KOKKOS_FUNCTION void operator()(const Row& row, int64_t r) const {
    auto* const x = reinterpret_cast<float*>(logits.row(r));
    const RowTarget<Loss> target = target_of(logits, rows, loss, r);
    const RowSoftmax softmax = softmax_of(row, loss, x, logits.vocabulary);
    row.once([&] { rows.put(r, target, softmax); });
    if (!gradient) return;
    write_gradient<T>(row, target, gradient_of(logits, rows, target, softmax), softmax.most,
                      logits.row(r));
  }
};

}  // namespace zero::kernels
