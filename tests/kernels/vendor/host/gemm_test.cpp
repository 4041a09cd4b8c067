// Ranks: 1

#include "kernels/vendor/host/gemm.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/matrix_reference.hpp"

namespace zero::kernels::vendor {
namespace {

TEST(WidenedProduct, OfBf16AgreesWithTheProcessorsOwnToTheRoundingOfTheOutput) {
  const GemmSpec spec{.m = 40,
                      .n = 50,
                      .k = 60,
                      .lda = 60,
                      .ldb = 50,
                      .ldc = 50,
                      .in = Dtype::bf16,
                      .out = Dtype::bf16};
  const auto a = testing::sixteenths<bf16>(spec.m * spec.k, 1);
  const auto b = testing::sixteenths<bf16>(spec.k * spec.n, 2);
  std::vector<bf16> c = testing::poisoned<bf16>(spec.m * spec.n);
  widened_gemm(spec, {.a = a.data(), .b = b.data(), .c = c.data()}, 2);
  const testing::ReferenceProduct reference{
      spec.m, spec.n, spec.k, testing::strides(false, spec.lda), testing::strides(false, spec.ldb)};
  EXPECT_LT(testing::relative_error(c, testing::multiply(reference, a, b)), 0x1p-8);
}

}  // namespace
}  // namespace zero::kernels::vendor
