#include "zero/kernels/classifier.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/support/chunk_sums.hpp"
#include "kernels/support/elements.hpp"
#include "kernels/support/rows.hpp"
#include "kernels/support/softmax_block.hpp"
#include "kernels/support/softmax_rows.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {
namespace {

const std::string kSoftmax = "zero::softmax_xent";
const std::string kAddLosses = "zero::add_losses";
const std::string kRoundGradient = "zero::round_gradient";

/// Adds the losses, on one thread of the host, or one row a thread of a GPU. The sum is exact, so
/// any order will do.
void add_losses(const Stream& stream, int64_t count, const double* losses, StepSums* sums) {
  const int64_t threads = kHostSpace ? 1 : count;
  launch(
      kAddLosses, items(stream, threads), KOKKOS_LAMBDA(int64_t thread) {
        for (int64_t r = thread; r < count; r += threads) {
          if (!Kokkos::isfinite(losses[r]))
            Kokkos::atomic_add(&sums->nonfinite_loss, int64_t(1));
          else if constexpr (kHostSpace)
            sums->loss.add(losses[r]);
          else
            add_atomically(sums->loss, losses[r]);
        }
      });
}

template <class T>
void round_to(const Stream& stream, int64_t numel, const float* from, T* to) {
  map_elements(
      stream, kRoundGradient, numel, Mapped<T, float>{from, nullptr, to},
      KOKKOS_LAMBDA(float value, float) { return value; });
}

template <class T, class Loss>
void softmax(const Stream& stream, int64_t rows, const SoftmaxCrossEntropy<T, Loss>& row) {
  if constexpr (!kHostSpace && !Loss::kCapped) {
    if (holds_rows(row.logits)) {
      using Code = SoftmaxBlock<T, Loss>;
      return launch_blocks<Code::kThreads>(stream, kSoftmax, rows,
                                           Code{row.logits, row.rows, row.gradient, row.loss},
                                           Code::kSharedNumel);
    }
  }
  for_each_row(stream, kSoftmax, rows, row, kSoftmaxThreads);
}

struct Layout {
  int64_t logits_bytes, losses_bytes, sums_bytes, bias_bytes;

  Layout(const ClassifierExtents& extents, Dtype dtype, bool dtable, bool dlogit_bias) {
    const int64_t chunk = std::min(extents.chunk_rows, extents.rows);
    const bool sums = dtable && dtype != Dtype::f32 && chunk < extents.rows;
    logits_bytes = round_up(chunk * extents.padded_vocabulary * 4, kExtentAlignBytes);
    losses_bytes = round_up(chunk * 8, kExtentAlignBytes);
    sums_bytes = sums ? extents.padded_vocabulary * extents.width * 4 : 0;
    bias_bytes = dlogit_bias ? bias_sums(extents, chunk) * extents.padded_vocabulary * 4 : 0;
  }
  int64_t bytes() const { return logits_bytes + losses_bytes + sums_bytes + bias_bytes; }

 private:
  /// Returns the most sums that add up at a time: the earlier chunks', and those of a chunk's rows.
  static int64_t bias_sums(const ClassifierExtents& extents, int64_t chunk) {
    const int64_t last = (extents.rows - 1) % chunk + 1;
    return 1 + std::max(RowChunks{chunk}.count(), RowChunks{last}.count());
  }
};

void check(const ClassifierExtents& extents) {
  ZERO_REQUIRE(extents.rows > 0 && extents.width > 0 && extents.chunk_rows > 0, "classifier over ",
               extents.rows, " rows of ", extents.width, " in chunks of ", extents.chunk_rows,
               ": all must be at least 1");
  ZERO_REQUIRE(extents.vocabulary > 0 && extents.vocabulary <= extents.padded_vocabulary,
               "vocabulary of ", extents.vocabulary, " classes padded to ",
               extents.padded_vocabulary, ": it must lie in [1, padded]");
}

void check(const ClassifierOptions& options) {
  ZERO_REQUIRE(options.label_smoothing >= 0 && options.label_smoothing < 1, "label smoothing of ",
               options.label_smoothing, ": must be at least 0 and less than 1");
  ZERO_REQUIRE(std::isfinite(options.logit_scale), "a scale of logits of ", options.logit_scale,
               ": must be finite");
  ZERO_REQUIRE(options.cap >= 0 && std::isfinite(options.cap), "a cap on logits of ", options.cap,
               ": must be finite and at least 0, which is none");
}

/// Returns the row stride of the logits' gradient, in elements. It lies in the fp32 logits' rows.
int64_t gradient_ld(const ClassifierExtents& extents, Dtype dtype) {
  return extents.padded_vocabulary * int64_t(sizeof(float) / bytes_of(dtype));
}

ProductSpec logits_spec(const ClassifierExtents& extents, int64_t rows) {
  return {.m = rows, .n = extents.padded_vocabulary, .k = extents.width, .transpose_b = true};
}

ProductSpec dx_spec(const ClassifierExtents& extents, int64_t rows, Dtype dtype) {
  return {.m = rows,
          .n = extents.width,
          .k = extents.padded_vocabulary,
          .lda = gradient_ld(extents, dtype)};
}

ProductSpec dtable_spec(const ClassifierExtents& extents, int64_t rows, Dtype dtype, bool first) {
  return {.m = extents.padded_vocabulary,
          .n = extents.width,
          .k = rows,
          .transpose_a = true,
          .accumulate = !first,
          .lda = gradient_ld(extents, dtype)};
}

template <class T>
struct Classifier {
  Stream& stream;
  const ClassifierExtents& extents;
  const ClassifierArrays<T>& arrays;
  std::byte* logits;
  float* sums;       ///< fp32 table gradient over chunks; null: it goes to dtable directly
  float* bias_sums;  ///< [1 + chunks of a chunk's rows, padded_vocabulary]; the earlier rows' sum
                     ///< is first

  bool gradient() const { return arrays.dx != nullptr; }

  /// Writes the losses of `rows` rows from `first` on, and their gradients in place of the logits.
  void compare(int64_t first, int64_t rows, LossRows losses,
               const ClassifierOptions& options) const {
    const Logits made{logits, extents.vocabulary, extents.padded_vocabulary};
    losses.targets += first;
    if (losses.scores != nullptr) losses.scores += first;
    const bool plain = options.logit_scale == 1 && options.label_smoothing == 0;
    if (plain && options.cap == 0 && arrays.logit_bias == nullptr)
      return softmax(stream, rows, SoftmaxCrossEntropy<T>{made, losses, gradient()});
    const LossWithOptions<T> loss{options.logit_scale, options.label_smoothing, arrays.logit_bias};
    if (options.cap > 0) {
      const CappedLoss<T> capped{loss, options.cap};
      return softmax(stream, rows,
                     SoftmaxCrossEntropy<T, CappedLoss<T>>{made, losses, gradient(), capped});
    }
    softmax(stream, rows,
            SoftmaxCrossEntropy<T, LossWithOptions<T>>{made, losses, gradient(), loss});
  }

  /// False if no row of a chunk counts, which only a host sees before the chunk's products run. The
  /// gradients then are zeros.
  bool counts(int64_t first, int64_t rows) const {
    if (!kHostSpace || arrays.dlogit_bias != nullptr) return true;
    const int32_t* const targets = arrays.targets + first;
    return std::any_of(targets, targets + rows, [](int32_t target) { return target != -1; });
  }

  /// Writes the gradients and scores of a chunk of which no row counts.
  void skip(int64_t first, int64_t rows) const {
    if (arrays.scores != nullptr) std::fill_n(arrays.scores + first, rows, TokenScore{});
    if (!gradient()) return;
    const int64_t width = extents.width, table = extents.padded_vocabulary * width;
    std::fill_n(arrays.dx + first * width, rows * width, T(0.0f));
    if (first > 0 || arrays.dtable == nullptr) return;
    if (sums != nullptr)
      std::fill_n(sums, table, 0.0f);
    else
      std::fill_n(arrays.dtable, table, T(0.0f));
  }

  void multiply_logits(int64_t first, int64_t rows) const {
    product<T, float>(stream, logits_spec(extents, rows), arrays.x + first * extents.width,
                      arrays.table, nullptr, reinterpret_cast<float*>(logits));
  }

  template <class Out>
  void multiply_dtable(int64_t first, int64_t rows, Out* out) const {
    product<T, Out>(stream, dtable_spec(extents, rows, dtype_of<T>(), first == 0),
                    reinterpret_cast<const T*>(logits), arrays.x + first * extents.width, nullptr,
                    out);
  }

  /// Adds the chunk's gradient of the logits to that of the bias. Rounds it in the last chunk.
  void add_to_bias(int64_t first, int64_t rows) const {
    const int64_t columns = extents.padded_vocabulary;
    float* const fresh = bias_sums + columns;
    add_row_chunks<T>(
        stream,
        {rows, columns, gradient_ld(extents, dtype_of<T>()), reinterpret_cast<const T*>(logits)},
        fresh);
    const int64_t chunks = RowChunks{rows}.count();
    const auto add = [&](auto* out) {
      if (first == 0)
        add_chunk_sums(stream, chunks, columns, fresh, out);
      else
        add_chunk_sums(stream, chunks + 1, columns, bias_sums, out);
    };
    if (first + rows == extents.rows)
      add(arrays.dlogit_bias);
    else
      add(bias_sums);
  }

  void multiply_gradients(int64_t first, int64_t rows) const {
    product<T, T>(stream, dx_spec(extents, rows, dtype_of<T>()), reinterpret_cast<const T*>(logits),
                  arrays.table, nullptr, arrays.dx + first * extents.width);
    if (arrays.dlogit_bias != nullptr) add_to_bias(first, rows);
    if (arrays.dtable == nullptr) return;
    if (sums != nullptr)
      multiply_dtable(first, rows, sums);
    else
      multiply_dtable(first, rows, arrays.dtable);
  }
};

}  // namespace

int64_t classifier_scratch_bytes(const ClassifierExtents& extents, Dtype dtype, bool dtable,
                                 bool dlogit_bias) {
  check(extents);
  return Layout(extents, dtype, dtable, dlogit_bias).bytes();
}

void prepare_classifier(Stream& stream, const ClassifierExtents& extents, Dtype dtype, bool dx,
                        bool dtable) {
  const bool sums = Layout(extents, dtype, dtable, false).sums_bytes > 0;
  for (int64_t first = 0; first < extents.rows; first += extents.chunk_rows) {
    const int64_t rows = std::min(extents.chunk_rows, extents.rows - first);
    prepare_product(stream, logits_spec(extents, rows), dtype, Dtype::f32, false);
    if (!dx) continue;
    prepare_product(stream, dx_spec(extents, rows, dtype), dtype, dtype, false);
    if (!dtable) continue;
    prepare_product(stream, dtable_spec(extents, rows, dtype, first == 0), dtype,
                    sums ? Dtype::f32 : dtype, false);
  }
}

template <class T>
void classifier(Stream& stream, const ClassifierExtents& extents, const StepInputs* inputs,
                const StepState* state, const ClassifierArrays<T>& arrays, StepSums* sums,
                const ClassifierOptions& options) {
  check(extents);
  check(options);
  const bool dtable = arrays.dtable != nullptr, dlogit_bias = arrays.dlogit_bias != nullptr;
  ZERO_REQUIRE(arrays.dx != nullptr || !(dtable || dlogit_bias),
               "classifier with the gradient of a parameter alone: give dx too");
  ZERO_REQUIRE(!dlogit_bias || options.logit_scale == 1,
               "a bias of logits is trained beside a logit_scale of ", options.logit_scale,
               ": only 1 works");
  const Layout layout(extents, dtype_of<T>(), dtable, dlogit_bias);
  auto* const scratch = static_cast<std::byte*>(arrays.scratch);
  auto* const losses = reinterpret_cast<double*>(scratch + layout.logits_bytes);
  auto* const table_sums =
      reinterpret_cast<float*>(scratch + layout.logits_bytes + layout.losses_bytes);
  const Classifier<T> work{stream,
                           extents,
                           arrays,
                           scratch,
                           layout.sums_bytes > 0 ? table_sums : nullptr,
                           table_sums + layout.sums_bytes / 4};
  const LossRows loss_rows{arrays.targets, losses, inputs, state, arrays.scores};
  for (int64_t first = 0; first < extents.rows; first += extents.chunk_rows) {
    const int64_t rows = std::min(extents.chunk_rows, extents.rows - first);
    if (options.skips && !work.counts(first, rows)) {
      work.skip(first, rows);
      continue;
    }
    work.multiply_logits(first, rows);
    work.compare(first, rows, loss_rows, options);
    add_losses(stream, rows, losses, sums);
    if (work.gradient()) work.multiply_gradients(first, rows);
  }
  if (work.sums != nullptr)
    round_to(stream, extents.padded_vocabulary * extents.width, work.sums, arrays.dtable);
}

template void classifier(Stream&, const ClassifierExtents&, const StepInputs*, const StepState*,
                         const ClassifierArrays<float>&, StepSums*, const ClassifierOptions&);
template void classifier(Stream&, const ClassifierExtents&, const StepInputs*, const StepState*,
                         const ClassifierArrays<bf16>&, StepSums*, const ClassifierOptions&);
template void classifier(Stream&, const ClassifierExtents&, const StepInputs*, const StepState*,
                         const ClassifierArrays<f16>&, StepSums*, const ClassifierOptions&);

}  // namespace zero::kernels
