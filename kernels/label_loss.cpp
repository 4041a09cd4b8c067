#include "zero/kernels/label_loss.hpp"

#include <cmath>

#include "kernels/support/math.hpp"
#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

const std::string kOfClasses = "zero::class_loss", kOfSquares = "zero::squared_loss";

/// A base of both losses, with a sample in each row.
template <class T, class Label>
struct LabelRows {
  int64_t classes;
  const StepInputs* inputs;
  const StepState* state;
  LabelArrays<T, Label> arrays;
  StepSums* sums;

  KOKKOS_FUNCTION float gradient_scale() const {
    return float(double(state->loss_scale) / double(inputs->counted_tokens));
  }
  template <class RowOf>
  KOKKOS_INLINE_FUNCTION void copy_scores(const RowOf& row, int64_t r) const {
    if (arrays.scores == nullptr) return;
    const T* const from = arrays.logits + r * classes;
    row.write(classes, arrays.scores + r * classes, [=](int64_t j) { return float(from[j]); });
  }
  template <class RowOf>
  KOKKOS_INLINE_FUNCTION void add(const RowOf& row, double loss) const {
    StepSums* const to = sums;
    row.once([=] {
      if (Kokkos::isfinite(loss))
        RowOf::add(to->loss, loss);
      else
        Kokkos::atomic_add(&to->nonfinite_loss, int64_t(1));
    });
  }
};

template <class T>
struct ClassLoss {
  LabelRows<T, int32_t> of;

  template <class RowOf>
  KOKKOS_INLINE_FUNCTION void operator()(const RowOf& row, int64_t r) const {
    const int64_t classes = of.classes, label = of.arrays.labels[r];
    const T* const logits = of.arrays.logits + r * classes;
    const float most = row.maximum(classes, [=](int64_t j) { return float(logits[j]); });
    const float sum = row.template sum<float>(
        classes, [=](int64_t j) { return exp_f32(float(logits[j]) - most); });
    if (label != -1) {
      const bool known = label >= 0 && label < classes;
      const double below = known ? double(most) - double(float(logits[label])) : double(NAN);
      of.add(row, below + double(log_f32(sum)));
    }
    of.copy_scores(row, r);
    if (of.arrays.dlogits == nullptr) return;
    const float scale = label == -1 ? 0.0f : of.gradient_scale();
    row.write(classes, of.arrays.dlogits + r * classes, [=](int64_t j) {
      const float probability = exp_f32(float(logits[j]) - most) / sum;
      return label == -1 ? 0.0f : (probability - (j == label ? 1.0f : 0.0f)) * scale;
    });
  }
};

template <class T>
struct SquaredLoss {
  LabelRows<T, float> of;

  template <class RowOf>
  KOKKOS_INLINE_FUNCTION void operator()(const RowOf& row, int64_t r) const {
    const float label = of.arrays.labels[r], off = float(of.arrays.logits[r]) - label;
    const bool counted = !Kokkos::isnan(label);
    if (counted) of.add(row, double(off) * double(off));
    of.copy_scores(row, r);
    if (of.arrays.dlogits == nullptr) return;
    const float slope = counted ? 2.0f * off * of.gradient_scale() : 0.0f;
    row.write(1, of.arrays.dlogits + r, [=](int64_t) { return slope; });
  }
};

void check(const LabelExtents& extents) {
  ZERO_REQUIRE(extents.samples > 0 && extents.classes > 0, "a loss of ", extents.samples,
               " samples with ", extents.classes, " logits each: both must be at least 1");
}

}  // namespace

template <class T>
void class_loss(Stream& stream, const LabelExtents& extents, const StepInputs* inputs,
                const StepState* state, const LabelArrays<T, int32_t>& arrays, StepSums* sums) {
  check(extents);
  for_each_row(stream, kOfClasses, extents.samples,
               ClassLoss<T>{{extents.classes, inputs, state, arrays, sums}});
}

template <class T>
void squared_loss(Stream& stream, const LabelExtents& extents, const StepInputs* inputs,
                  const StepState* state, const LabelArrays<T, float>& arrays, StepSums* sums) {
  check(extents);
  ZERO_REQUIRE(extents.classes == 1, "a squared loss of ", extents.classes,
               " logits a sample: it takes one");
  for_each_row(stream, kOfSquares, extents.samples,
               SquaredLoss<T>{{extents.classes, inputs, state, arrays, sums}});
}

template void class_loss(Stream&, const LabelExtents&, const StepInputs*, const StepState*,
                         const LabelArrays<float, int32_t>&, StepSums*);
template void class_loss(Stream&, const LabelExtents&, const StepInputs*, const StepState*,
                         const LabelArrays<bf16, int32_t>&, StepSums*);
template void class_loss(Stream&, const LabelExtents&, const StepInputs*, const StepState*,
                         const LabelArrays<f16, int32_t>&, StepSums*);
template void squared_loss(Stream&, const LabelExtents&, const StepInputs*, const StepState*,
                           const LabelArrays<float, float>&, StepSums*);
template void squared_loss(Stream&, const LabelExtents&, const StepInputs*, const StepState*,
                           const LabelArrays<bf16, float>&, StepSums*);
template void squared_loss(Stream&, const LabelExtents&, const StepInputs*, const StepState*,
                           const LabelArrays<f16, float>&, StepSums*);

}  // namespace zero::kernels
