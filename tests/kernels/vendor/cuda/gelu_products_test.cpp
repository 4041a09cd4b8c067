// Ranks: 1

#include "kernels/vendor/cuda/gelu_products.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/vendor/epilogue_rules.hpp"
#include "tests/support/device_array.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/reference.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::DeviceArray;

constexpr double kBound = 1e-2;

/// A product as a linear layer has it, forwards or backwards, with leading dimensions beyond its
/// rows.
struct Trial {
  GemmSpec spec;
  std::vector<bf16> a, b, bias;
  std::vector<bf16> aux;  ///< backwards, what GELU was taken of

  Trial(Epilogue epilogue, int64_t m, int64_t n, int64_t k) {
    const bool forwards = epilogue == Epilogue::gelu;
    spec = {.m = m,
            .n = n,
            .k = k,
            .lda = k + 8,
            .ldb = (forwards ? n : k) + 16,
            .ldc = n,
            .in = Dtype::bf16,
            .out = Dtype::bf16,
            .transpose_b = !forwards,
            .bias = forwards,
            .epilogue = epilogue};
    a = noise<bf16>(m * spec.lda, 1);
    b = noise<bf16>((forwards ? k : n) * spec.ldb, 2, 0.2);
    if (forwards)
      bias = noise<bf16>(n, 3);
    else
      aux = noise<bf16>(m * n, 4, 3.0);
  }

  /// Returns op(a) op(b) (+ bias).
  std::vector<double> sums() const {
    std::vector<double> made =
        testing::multiply({spec.m, spec.n, spec.k, testing::strides(false, spec.lda),
                           testing::strides(spec.transpose_b, spec.ldb)},
                          a, b);
    if (!spec.bias) return made;
    for (size_t i = 0; i < made.size(); ++i) made[i] += double(float(bias[i % bias.size()]));
    return made;
  }
};

struct Outputs {
  std::vector<bf16> c, aux, sums;
};

/// Returns what the kernels write; backwards, aux is what was read.
Outputs run(const Trial& trial, const GeluProduct& product) {
  const GemmSpec& spec = trial.spec;
  const int64_t numel = spec.m * spec.n;
  Stream stream(1);
  adopt_threads(stream);
  const DeviceArray<bf16> a(trial.a), b(trial.b), bias(trial.bias);
  const auto c = DeviceArray<bf16>::of_outputs(numel), sums = DeviceArray<bf16>::of_outputs(spec.n);
  const auto aux =
      trial.aux.empty() ? DeviceArray<bf16>::of_outputs(numel) : DeviceArray<bf16>(trial.aux);
  const DeviceArray<float> scratch(
      testing::poisoned<float>(gelu_backward_scratch_numel(spec.m, spec.n)));
  GemmOperands operands{.a = a.data(), .b = b.data(), .c = c.data(), .aux = aux.data()};
  if (spec.bias) operands.bias = bias.data();
  const bool adds = spec.epilogue == Epilogue::gelu_gradient_sums;
  if (adds) operands.sums = sums.data(), operands.scratch = scratch.data();
  EXPECT_TRUE(takes_gelu_products(spec, operands));
  EXPECT_TRUE(product.run(stream, spec, operands));
  stream.wait();
  return {c.values(), aux.values(), adds ? sums.values() : std::vector<bf16>()};
}

void expect_gelu(const Trial& trial, const Outputs& got) {
  std::vector<double> c = trial.sums();
  EXPECT_LT(relative_error(got.aux, c), kBound);
  for (double& value : c) value = testing::gelu(value);
  EXPECT_LT(relative_error(got.c, c), kBound);
}

void expect_gradient(const Trial& trial, const Outputs& got) {
  EXPECT_TRUE(same_bits(got.aux, trial.aux));
  std::vector<double> c = trial.sums(), columns(size_t(trial.spec.n), 0.0);
  for (size_t i = 0; i < c.size(); ++i) c[i] *= testing::gelu_slope(double(float(trial.aux[i])));
  EXPECT_LT(relative_error(got.c, c), kBound);
  if (got.sums.empty()) return;
  // The kernel adds the elements as it has rounded them.
  for (size_t i = 0; i < c.size(); ++i) columns[i % columns.size()] += double(float(got.c[i]));
  EXPECT_LT(relative_error(got.sums, columns), kBound);
}

void expect_close(const Trial& trial, const Outputs& got) {
  if (trial.spec.epilogue == Epilogue::gelu) return expect_gelu(trial, got);
  expect_gradient(trial, got);
}

/// Sides below, at and beyond those of tiles and steps, and more tiles than a GPU has processors.
struct Sides {
  int64_t m, n, k;
};
constexpr Sides kSides[] = {{1, 8, 8},       {128, 256, 64}, {129, 264, 72},   {300, 520, 136},
                            {520, 776, 200}, {33, 1032, 24}, {4200, 2056, 40}, {257, 1600, 1024}};
constexpr Epilogue kEpilogues[] = {Epilogue::gelu, Epilogue::gelu_gradient,
                                   Epilogue::gelu_gradient_sums};

template <class Check>
void for_each_product(const Check& check) {
  if (gelu_products(Epilogue::gelu).empty())
    GTEST_SKIP() << "a device or a build without such kernels";
  for (const Epilogue epilogue : kEpilogues) {
    SCOPED_TRACE(int(epilogue));
    for (const GeluProduct& product : gelu_products(epilogue)) {
      SCOPED_TRACE(product.name);
      check(epilogue, product);
    }
  }
}

template <class Check>
void for_each_trial(const Check& check) {
  for_each_product([&](Epilogue epilogue, const GeluProduct& product) {
    for (const auto& [m, n, k] : kSides) {
      SCOPED_TRACE(text(m, " x ", n, " x ", k));
      check(Trial(epilogue, m, n, k), product);
    }
  });
}

TEST(GeluProducts, AgreeWithDoubleLoops) {
  for_each_trial([](const Trial& trial, const GeluProduct& product) {
    expect_close(trial, run(trial, product));
  });
}

TEST(GeluProducts, HaveTheSameBitsInEveryRun) {
  for_each_trial([](const Trial& trial, const GeluProduct& product) {
    const Outputs one = run(trial, product), other = run(trial, product);
    EXPECT_TRUE(same_bits(one.c, other.c));
    EXPECT_TRUE(same_bits(one.aux, other.aux));
    EXPECT_TRUE(same_bits(one.sums, other.sums));
  });
}

/// GELU is the number itself far above zero, zero far below, and keeps NaN.
TEST(GeluProducts, KeepWhatIsLargeAndWhatIsNotANumber) {
  for_each_product([](Epilogue epilogue, const GeluProduct& product) {
    if (epilogue != Epilogue::gelu) return;
    Trial trial(epilogue, 300, 520, 136);
    trial.a.assign(trial.a.size(), bf16(0.0f));
    trial.bias[0] = bf16(65536.0f);
    trial.bias[1] = bf16(-65536.0f);
    trial.bias[2] = bf16(NAN);
    trial.bias[3] = bf16(0.0f);
    const Outputs got = run(trial, product);
    for (const size_t row : {size_t(0), size_t(299)}) {
      const bf16* const c = got.c.data() + row * 520;
      EXPECT_EQ(float(c[0]), 65536.0f);
      EXPECT_NEAR(float(c[1]), 0.0f, 1e-30f);
      EXPECT_TRUE(std::isnan(float(c[2])));
      EXPECT_EQ(float(c[3]), 0.0f);
    }
  });
}

/// The slope is one far above zero, zero far below, a half at zero, and keeps NaN.
TEST(GeluProducts, HaveTheSlopesOfWhatIsLargeAndOfWhatIsNotANumber) {
  for_each_product([](Epilogue epilogue, const GeluProduct& product) {
    if (epilogue == Epilogue::gelu) return;
    Trial trial(epilogue, 300, 520, 8);
    trial.a.assign(trial.a.size(), bf16(1.0f));
    trial.b.assign(trial.b.size(), bf16(1.0f));
    for (const size_t row : {size_t(0), size_t(299)}) {
      bf16* const x = trial.aux.data() + row * 520;
      x[0] = bf16(1e38f), x[1] = bf16(-1e38f), x[2] = bf16(NAN), x[3] = bf16(0.0f);
    }
    const Outputs got = run(trial, product);
    for (const size_t row : {size_t(0), size_t(299)}) {
      const bf16* const c = got.c.data() + row * 520;
      EXPECT_EQ(float(c[0]), 8.0f);
      EXPECT_NEAR(float(c[1]), 0.0f, 1e-30f);
      EXPECT_TRUE(std::isnan(float(c[2])));
      EXPECT_EQ(float(c[3]), 4.0f);
    }
    if (got.sums.empty()) return;
    EXPECT_TRUE(std::isnan(float(got.sums[2])));
  });
}

}  // namespace
}  // namespace zero::kernels::vendor
