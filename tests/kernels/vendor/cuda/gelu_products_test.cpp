// Ranks: 1

#include "kernels/vendor/cuda/gelu_products.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/vendor/epilogue_rules.hpp"
#include "tests/support/device_array.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/reference.hpp"
#include "zero/base/error.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::DeviceArray;
using testing::noise;
using testing::relative_error;
using testing::same_bits;

constexpr double kBound = 1e-2;

/// A product as a linear layer has it, with leading dimensions beyond its rows.
struct Trial {
  GemmSpec spec;
  std::vector<bf16> a, b, bias;

  Trial(int64_t m, int64_t n, int64_t k) {
    spec = {.m = m,
            .n = n,
            .k = k,
            .lda = k + 8,
            .ldb = n + 16,
            .ldc = n,
            .in = Dtype::bf16,
            .out = Dtype::bf16,
            .bias = true,
            .epilogue = Epilogue::gelu};
    a = noise<bf16>(m * spec.lda, 1);
    b = noise<bf16>(k * spec.ldb, 2, 0.2);
    bias = noise<bf16>(n, 3);
  }

  /// Returns a b + bias.
  std::vector<double> sums() const {
    std::vector<double> made =
        testing::multiply({spec.m, spec.n, spec.k, testing::strides(false, spec.lda),
                           testing::strides(false, spec.ldb)},
                          a, b);
    for (size_t i = 0; i < made.size(); ++i) made[i] += double(float(bias[i % bias.size()]));
    return made;
  }
};

struct Outputs {
  std::vector<bf16> c, aux;
};

/// Returns what the kernel writes.
Outputs run(const Trial& trial, const GeluProduct& product) {
  const GemmSpec& spec = trial.spec;
  const int64_t numel = spec.m * spec.n;
  Stream stream(1);
  adopt_threads(stream);
  const DeviceArray<bf16> a(trial.a), b(trial.b), bias(trial.bias);
  const auto c = DeviceArray<bf16>::of_outputs(numel), aux = DeviceArray<bf16>::of_outputs(numel);
  const GemmOperands operands{
      .a = a.data(), .b = b.data(), .c = c.data(), .bias = bias.data(), .aux = aux.data()};
  EXPECT_TRUE(takes_gelu_products(spec, operands));
  EXPECT_TRUE(product.run(native_stream(stream), spec, operands));
  stream.wait();
  return {c.values(), aux.values()};
}

void expect_close(const Trial& trial, const Outputs& got) {
  std::vector<double> c = trial.sums();
  EXPECT_LT(relative_error(got.aux, c), kBound);
  for (double& value : c) value = testing::gelu(value);
  EXPECT_LT(relative_error(got.c, c), kBound);
}

/// Sides below, at and beyond those of tiles and steps, and more tiles than a GPU has processors.
struct Sides {
  int64_t m, n, k;
};
constexpr Sides kSides[] = {{1, 8, 8},       {128, 256, 64}, {129, 264, 72},   {300, 520, 136},
                            {520, 776, 200}, {33, 1032, 24}, {4200, 2056, 40}, {257, 1600, 1024}};

template <class Check>
void for_each_product(const Check& check) {
  if (gelu_products().empty()) GTEST_SKIP() << "a device or a build without such kernels";
  for (const GeluProduct& product : gelu_products()) {
    SCOPED_TRACE(product.name);
    check(product);
  }
}

template <class Check>
void for_each_trial(const Check& check) {
  for_each_product([&](const GeluProduct& product) {
    for (const auto& [m, n, k] : kSides) {
      SCOPED_TRACE(text(m, " x ", n, " x ", k));
      check(Trial(m, n, k), product);
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
  });
}

/// GELU is the number itself far above zero, zero far below, and keeps NaN.
TEST(GeluProducts, KeepWhatIsLargeAndWhatIsNotANumber) {
  for_each_product([](const GeluProduct& product) {
    Trial trial(300, 520, 136);
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

}  // namespace
}  // namespace zero::kernels::vendor
