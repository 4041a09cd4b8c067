#include "zero/kernels/classifier.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "kernels/support/math.hpp"
#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {
namespace {

const std::string kSoftmax = "zero::softmax_xent";
const std::string kAddLosses = "zero::add_losses";
const std::string kRoundGradient = "zero::round_gradient";

/// One chunk of logits, [rows, padded_vocabulary] in fp32. Their gradient in T takes the front of
/// each row's bytes.
struct Logits {
  std::byte* memory;
  int64_t vocabulary, padded_vocabulary;

  KOKKOS_FUNCTION std::byte* row(int64_t r) const {
    return memory + r * padded_vocabulary * int64_t(sizeof(float));
  }
};

struct LossRows {
  const int32_t* targets;
  double* losses;
  const StepInputs* inputs;
  const StepState* state;
};

/// What turns a row's exponentials into its gradient.
struct RowGradient {
  int64_t vocabulary, padded_vocabulary;
  float factor;  ///< loss scale / (counted tokens * sum of exponentials)
  bool counted;  ///< false: the gradient is zero, whatever the logits are

  KOKKOS_FUNCTION float operator()(int64_t j, float exponential) const {
    return counted && j < vocabulary ? exponential * factor : 0.0f;
  }
};

template <class T>
KOKKOS_INLINE_FUNCTION void store(std::byte* row, int64_t j, float value) {
  const T rounded(value);
  std::memcpy(row + j * int64_t(sizeof(T)), &rounded, sizeof(T));
}

// A narrower gradient overwrites exponentials further in front than those it is made of, so reading
// a stretch before writing any of it is all the care that is needed.

template <class T>
KOKKOS_INLINE_FUNCTION void write_gradient(const HostRow&, const RowGradient& gradient,
                                           std::byte* row) {
  constexpr int64_t kStretch = 2048;
  float stretch[kStretch];
  for (int64_t first = 0; first < gradient.padded_vocabulary; first += kStretch) {
    const int64_t count = least(kStretch, gradient.padded_vocabulary - first);
    std::memcpy(stretch, row + first * int64_t(sizeof(float)), size_t(count) * sizeof(float));
    for (int64_t j = 0; j < count; ++j) store<T>(row, first + j, gradient(first + j, stretch[j]));
  }
}

template <class T>
KOKKOS_INLINE_FUNCTION void write_gradient(const TeamRow& row, const RowGradient& gradient,
                                           std::byte* memory) {
  const int64_t threads = row.member.team_size(), columns = gradient.padded_vocabulary;
  for (int64_t first = 0; first < columns; first += threads) {
    const int64_t j = first + row.member.team_rank();
    float exponential = 0.0f;
    if (j < columns) std::memcpy(&exponential, memory + j * int64_t(sizeof(float)), sizeof(float));
    row.barrier();
    if (j < columns) store<T>(memory, j, gradient(j, exponential));
  }
}

/// Softmax cross-entropy of row r and, in place, its gradient.
template <class T, class Row>
struct SoftmaxCrossEntropy {
  Logits logits;
  LossRows rows;
  bool gradient;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t r) const {
    auto* const x = reinterpret_cast<float*>(logits.row(r));
    const int32_t target = rows.targets[r];
    const bool known = target >= 0 && target < logits.vocabulary;
    const float target_logit = known ? x[target] : 0.0f;
    const float most = row.maximum(logits.vocabulary, [=](int64_t j) { return x[j]; });
    row.barrier();
    const float sum = row.template sum<float>(logits.vocabulary, [=](int64_t j) {
      const float exponential = exp_f32(x[j] - most);
      x[j] = exponential;
      return exponential;
    });
    row.once([&] {
      // A class that does not exist shows as a loss that is not finite.
      const double below = known ? double(most) - double(target_logit) : double(NAN);
      rows.losses[r] = target == -1 ? 0.0 : below + double(log_f32(sum));
    });
    if (!gradient) return;
    const float scale = float(double(rows.state->loss_scale) / double(rows.inputs->counted_tokens));
    row.barrier();
    write_gradient<T>(row, {logits.vocabulary, logits.padded_vocabulary, scale / sum, target != -1},
                      logits.row(r));
    row.barrier();
    const float probability = exp_f32(target_logit - most) / sum;
    row.once([&] {
      if (known) store<T>(logits.row(r), target, (probability - 1.0f) * scale);
    });
  }
};

/// In row order, on one thread; the sum is exact, so the order is free.
void add_losses(const Stream& stream, int64_t count, const double* losses, StepSums* sums) {
  launch(
      kAddLosses, items(stream, 1), KOKKOS_LAMBDA(int64_t) {
        for (int64_t r = 0; r < count; ++r) {
          if (Kokkos::isfinite(losses[r]))
            sums->loss.add(losses[r]);
          else
            ++sums->nonfinite_loss;
        }
      });
}

template <class T>
void round_to(const Stream& stream, int64_t numel, const float* from, T* to) {
  for_each_element(
      stream, kRoundGradient, numel, KOKKOS_LAMBDA(int64_t i) { to[i] = T(from[i]); });
}

/// Cuts the scratch.
struct Layout {
  int64_t logits_bytes, losses_bytes, sums_bytes;

  Layout(const ClassifierExtents& extents, Dtype dtype, bool gradient) {
    const int64_t chunk = std::min(extents.chunk_rows, extents.rows);
    const bool sums = gradient && dtype != Dtype::f32 && chunk < extents.rows;
    logits_bytes = round_up(chunk * extents.padded_vocabulary * 4, kExtentAlignBytes);
    losses_bytes = round_up(chunk * 8, kExtentAlignBytes);
    sums_bytes = sums ? extents.padded_vocabulary * extents.width * 4 : 0;
  }
  int64_t bytes() const { return logits_bytes + losses_bytes + sums_bytes; }
};

void check(const ClassifierExtents& extents) {
  ZERO_REQUIRE(extents.rows > 0 && extents.width > 0 && extents.chunk_rows > 0, "classifier over ",
               extents.rows, " rows of ", extents.width, " in chunks of ", extents.chunk_rows,
               ": all must be at least 1");
  ZERO_REQUIRE(extents.vocabulary > 0 && extents.vocabulary <= extents.padded_vocabulary,
               "vocabulary of ", extents.vocabulary, " classes padded to ",
               extents.padded_vocabulary, ": it must lie in [1, padded]");
}

/// One call of classifier().
template <class T>
struct Classifier {
  Stream& stream;
  const ClassifierExtents& extents;
  const ClassifierArrays<T>& arrays;
  std::byte* logits;
  float* sums;  ///< fp32 table gradient over chunks; null: it goes to dtable directly

  bool gradient() const { return arrays.dx != nullptr; }

  void multiply_logits(int64_t first, int64_t rows) const {
    product<T, float>(
        stream,
        {.m = rows, .n = extents.padded_vocabulary, .k = extents.width, .transpose_b = true},
        arrays.x + first * extents.width, arrays.table, nullptr, reinterpret_cast<float*>(logits));
  }

  template <class Out>
  void multiply_dtable(int64_t first, int64_t rows, Out* out) const {
    product<T, Out>(stream,
                    {.m = extents.padded_vocabulary,
                     .n = extents.width,
                     .k = rows,
                     .transpose_a = true,
                     .accumulate = first > 0,
                     .lda = gradient_ld()},
                    reinterpret_cast<const T*>(logits), arrays.x + first * extents.width, nullptr,
                    out);
  }

  void multiply_gradients(int64_t first, int64_t rows) const {
    product<T, T>(
        stream,
        {.m = rows, .n = extents.width, .k = extents.padded_vocabulary, .lda = gradient_ld()},
        reinterpret_cast<const T*>(logits), arrays.table, nullptr,
        arrays.dx + first * extents.width);
    if (sums != nullptr)
      multiply_dtable(first, rows, sums);
    else
      multiply_dtable(first, rows, arrays.dtable);
  }

  int64_t gradient_ld() const {
    return extents.padded_vocabulary * int64_t(sizeof(float) / sizeof(T));
  }
};

}  // namespace

int64_t classifier_scratch_bytes(const ClassifierExtents& extents, Dtype dtype, bool gradient) {
  check(extents);
  return Layout(extents, dtype, gradient).bytes();
}

template <class T>
void classifier(Stream& stream, const ClassifierExtents& extents, const StepInputs* inputs,
                const StepState* state, const ClassifierArrays<T>& arrays, StepSums* sums) {
  check(extents);
  ZERO_REQUIRE((arrays.dx == nullptr) == (arrays.dtable == nullptr),
               "classifier with one of dx and dtable: give both or neither");
  const Layout layout(extents, dtype_of<T>(), arrays.dx != nullptr);
  auto* const scratch = static_cast<std::byte*>(arrays.scratch);
  auto* const losses = reinterpret_cast<double*>(scratch + layout.logits_bytes);
  auto* const table_sums =
      reinterpret_cast<float*>(scratch + layout.logits_bytes + layout.losses_bytes);
  const Classifier<T> work{stream, extents, arrays, scratch,
                           layout.sums_bytes > 0 ? table_sums : nullptr};
  const Logits logits{scratch, extents.vocabulary, extents.padded_vocabulary};
  for (int64_t first = 0; first < extents.rows; first += extents.chunk_rows) {
    const int64_t rows = std::min(extents.chunk_rows, extents.rows - first);
    work.multiply_logits(first, rows);
    for_each_row(stream, kSoftmax, rows,
                 SoftmaxCrossEntropy<T, Row>{
                     logits, {arrays.targets + first, losses, inputs, state}, work.gradient()});
    add_losses(stream, rows, losses, sums);
    if (work.gradient()) work.multiply_gradients(first, rows);
  }
  if (work.sums != nullptr)
    round_to(stream, extents.padded_vocabulary * extents.width, work.sums, arrays.dtable);
}

template void classifier(Stream&, const ClassifierExtents&, const StepInputs*, const StepState*,
                         const ClassifierArrays<float>&, StepSums*);
template void classifier(Stream&, const ClassifierExtents&, const StepInputs*, const StepState*,
                         const ClassifierArrays<bf16>&, StepSums*);
template void classifier(Stream&, const ClassifierExtents&, const StepInputs*, const StepState*,
                         const ClassifierArrays<f16>&, StepSums*);

}  // namespace zero::kernels
