#pragma once
/// Choices beside each other: what a step is made of, one way and the other.

#include <algorithm>
#include <cstring>
#include <string>

#include "perf/device/rates.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/classifier.hpp"
#include "zero/kernels/elementwise.hpp"
#include "zero/kernels/product.hpp"

namespace zero::perf {

/// A value in memory of the device.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const T& value) : arena_(sizeof(T), Place::device) {
    Stream stream(1);
    copy_bytes(stream, std::as_bytes(std::span(&value, 1)), arena_.data());
    stream.wait();
  }
  T* get() const { return reinterpret_cast<T*>(arena_.data()); }

 private:
  Arena arena_;
};

constexpr int64_t kClasses = 50257, kPaddedClasses = 50304;

/// The head over all rows, and what it is made of: logits in fp32, softmax and loss, and both
/// gradients, of which that of the table adds to an fp32 sum from the second chunk on.
class HeadRates {
 public:
  HeadRates(Rates& rates, const Room& room, const std::string& model, int64_t width, int64_t rows)
      : rates_(rates), room_(room), model_(model), width_(width), rows_(rows) {}

  void add(int64_t chunk_rows) const {
    const int64_t rows = std::min(chunk_rows, rows_);
    const double flops = 2.0 * double(rows) * double(width_) * double(kPaddedClasses);
    const Arena logits(rows * kPaddedClasses * int64_t(sizeof(float)), Place::device);
    auto* const whole = reinterpret_cast<float*>(logits.data());
    const auto* const halves = reinterpret_cast<const bf16*>(logits.data());
    const auto rate = [&](const char* which, const auto& work) {
      return rates_.add(text("head of ", model_, ", ", rows, " rows, ", which), flops, "TFLOP/s",
                        work);
    };
    rate("logits in fp32", [&](Stream& stream) {
      kernels::product<bf16, float>(
          stream, {.m = rows, .n = kPaddedClasses, .k = width_, .transpose_b = true}, x(), table(),
          nullptr, whole);
    });
    // Gradients of logits lie in the rows of the logits, which are twice as wide.
    rate("dx", [&](Stream& stream) {
      kernels::product<bf16, bf16>(
          stream, {.m = rows, .n = width_, .k = kPaddedClasses, .lda = 2 * kPaddedClasses}, halves,
          table(), nullptr, dx());
    });
    rate("dtable += in fp32", [&](Stream& stream) {
      kernels::product<bf16, float>(stream,
                                    {.m = kPaddedClasses,
                                     .n = width_,
                                     .k = rows,
                                     .transpose_a = true,
                                     .accumulate = true,
                                     .lda = 2 * kPaddedClasses},
                                    halves, x(), nullptr, room_.at<float>(4));
    });
    add_whole(chunk_rows, whole);
  }

 private:
  bf16* x() const { return room_.at<bf16>(0); }
  bf16* table() const { return room_.at<bf16>(1); }
  bf16* dx() const { return room_.at<bf16>(2); }

  void add_whole(int64_t chunk_rows, float* logits) const {
    const kernels::ClassifierExtents extents{.rows = rows_,
                                             .width = width_,
                                             .vocabulary = kClasses,
                                             .padded_vocabulary = kPaddedClasses,
                                             .chunk_rows = chunk_rows};
    const Arena scratch(kernels::classifier_scratch_bytes(extents, Dtype::bf16, true),
                        Place::device);
    const Arena targets(rows_ * int64_t(sizeof(int32_t)), Place::device);  // all of class 0
    kernels::StepInputs counted{};
    counted.counted_tokens = rows_;
    kernels::StepState unscaled{};
    unscaled.loss_scale = 1;
    const OnDevice inputs(counted);
    const OnDevice state(unscaled);
    const OnDevice sums(kernels::StepSums{});
    kernels::ClassifierArrays<bf16> arrays{.x = x(),
                                           .table = table(),
                                           .targets = reinterpret_cast<int32_t*>(targets.data()),
                                           .dx = dx(),
                                           .dtable = room_.at<bf16>(3),
                                           .scratch = scratch.data()};
    const double flops = 2.0 * double(rows_) * double(width_) * double(kPaddedClasses);
    const std::string name = text("head of ", model_, " in chunks of ", chunk_rows);
    const auto rate = [&](const std::string& which, double products) {
      return rates_.add(name + which, products * flops, "TFLOP/s", [&](Stream& stream) {
        kernels::classifier<bf16>(stream, extents, inputs.get(), state.get(), arrays, sums.get());
      });
    };
    rate(", forward and backward", 3);
    arrays.dx = arrays.dtable = nullptr;
    const double loss = rate(", loss alone", 1);
    const double products =
        rates_.add(name + ", its logits alone", flops, "TFLOP/s",
                   [&](Stream& stream) { multiply_all(stream, chunk_rows, logits); });
    if (loss <= products) return;  // a machine that others share tells nothing
    // It reads the logits twice.
    rates_.note(name + ", softmax and loss by difference", loss - products,
                8.0 * double(rows_) * double(kPaddedClasses), "GB/s");
  }

  void multiply_all(Stream& stream, int64_t chunk_rows, float* logits) const {
    for (int64_t first = 0; first < rows_; first += chunk_rows) {
      const int64_t rows = std::min(chunk_rows, rows_ - first);
      kernels::product<bf16, float>(
          stream, {.m = rows, .n = kPaddedClasses, .k = width_, .transpose_b = true},
          x() + first * width_, table(), nullptr, logits);
    }
  }

  Rates& rates_;
  const Room& room_;
  std::string model_;
  int64_t width_, rows_;
};

/// GELU and the bias gradient: the way that a run takes, the faster of one call of the library and
/// one kernel behind the other, beside the second. Where both rates are the same, that one was
/// faster; what each took stands in the file of products (tools/product_times.py).
inline void fused_products(Rates& rates, const Room& room, const std::string& model, int64_t width,
                           int64_t rows) {
  const int64_t wide = 4 * width;
  const double flops = 2.0 * double(rows) * double(width) * double(wide);
  bf16 *const x = room.at<bf16>(0), *const weight = room.at<bf16>(1), *const h = room.at<bf16>(2),
              *const y = room.at<bf16>(3);
  float* const scratch = room.at<float>(4);
  const kernels::ProductSpec up{.m = rows, .n = wide, .k = width};
  const kernels::ProductSpec back{.m = rows, .n = wide, .k = width, .transpose_b = true};
  const kernels::ProductSpec dw{.m = width, .n = wide, .k = rows, .transpose_a = true};
  const auto rate = [&](const char* which, const auto& work) {
    rates.add(text(model, " ", which), flops, "TFLOP/s", work);
  };
  rate("up and GELU, the faster way", [&](Stream& stream) {
    kernels::product_gelu<bf16>(stream, up, {x, weight, weight, h, y});
  });
  rate("up and GELU, apart", [&](Stream& stream) {
    kernels::product<bf16, bf16>(stream, up, x, weight, weight, h);
    kernels::activate<bf16>(stream, kernels::Activation::gelu, rows * wide, h, y);
  });
  rate("down's dx and GELU's, the faster way", [&](Stream& stream) {
    kernels::product_gelu_backward<bf16>(stream, back, {x, weight, h, y});
  });
  rate("down's dx and GELU's, apart", [&](Stream& stream) {
    kernels::product<bf16, bf16>(stream, back, x, weight, nullptr, y);
    kernels::activate_backward<bf16>(stream, kernels::Activation::gelu, rows * wide, {h, y, y});
  });
  auto* const sums =
      reinterpret_cast<bf16*>(scratch + kernels::gelu_backward_scratch_numel(rows, wide));
  rate("down's dx, GELU's and sums, the faster way", [&](Stream& stream) {
    kernels::product_gelu_backward<bf16>(stream, back, {x, weight, h, y, sums, scratch});
  });
  rate("up's dw and bias gradient, the faster way", [&](Stream& stream) {
    kernels::product_column_sum<bf16>(stream, dw, {x, h, weight, y, scratch});
  });
  rate("up's dw and bias gradient, apart", [&](Stream& stream) {
    kernels::product<bf16, bf16>(stream, dw, x, h, nullptr, weight);
    kernels::column_sum<bf16>(stream, rows, wide, h, y, scratch);
  });
}

/// The gradients of biases, of each width that a block has.
inline void column_sums(Rates& rates, const Room& room, const std::string& model, int64_t width,
                        int64_t rows) {
  for (const int64_t columns : {width, 3 * width, 4 * width}) {
    rates.add(text("column sums ", model, ", ", columns), 2.0 * double(rows * columns), "GB/s",
              [&](Stream& stream) {
                kernels::column_sum<bf16>(stream, rows, columns, room.at<bf16>(0), room.at<bf16>(2),
                                          room.at<float>(4));
              });
  }
}

}  // namespace zero::perf
