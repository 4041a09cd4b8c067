// Ranks: 1

#include "kernels/vendor/epilogue_rules.hpp"

#include <gtest/gtest.h>

namespace zero::kernels::vendor {
namespace {

alignas(16) char memory[64];

GemmSpec spec_of(Epilogue epilogue) {
  return {.m = 24,
          .n = 64,
          .k = 16,
          .lda = 16,
          .ldb = 64,
          .ldc = 64,
          .in = Dtype::bf16,
          .out = Dtype::bf16,
          .bias = epilogue == Epilogue::gelu || epilogue == Epilogue::residual,
          .epilogue = epilogue};
}

constexpr Epilogue kAll[] = {Epilogue::gelu, Epilogue::gelu_gradient, Epilogue::column_sums,
                             Epilogue::gelu_gradient_sums, Epilogue::residual};

/// The epilogues that may be fused after a change, one bit each.
template <class Change>
int fused_after(Change change) {
  int fused = 0;
  for (int i = 0; i < 5; ++i) {
    GemmSpec spec = spec_of(kAll[i]);
    GemmOperands operands{memory, memory, memory, memory, memory, memory};
    change(spec, operands);
    fused |= int(may_fuse(spec, operands)) << i;
  }
  return fused;
}

TEST(EpilogueRules, TakeTheProductsOfAGpt2) {
  EXPECT_EQ(fused_after([](GemmSpec&, GemmOperands&) {}), 0b11111);
  EXPECT_EQ(fused_after([](GemmSpec& s, GemmOperands&) { s.n = s.ldc = 6400; }), 0b11111);
  EXPECT_EQ(fused_after([](GemmSpec& s, GemmOperands&) { s.transpose_a = true; }), 0b11111);
}

TEST(EpilogueRules, TheSecondMatrixHasRowsOfEightElementsAndLiesAtSixteenBytes) {
  EXPECT_EQ(fused_after([](GemmSpec& s, GemmOperands&) { s.n = s.ldc = 60; }), 0b10100);
  EXPECT_EQ(fused_after([](GemmSpec&, GemmOperands& o) { o.aux = memory + 8; }), 0b10100);
  EXPECT_EQ(fused_after([](GemmSpec&, GemmOperands& o) { o.aux = nullptr; }), 0b00100);
}

TEST(EpilogueRules, VectorsAreThereAndOfTheTypeOfC) {
  EXPECT_EQ(fused_after([](GemmSpec& s, GemmOperands&) { s.out = Dtype::f32; }), 0);
  EXPECT_EQ(fused_after([](GemmSpec&, GemmOperands& o) { o.bias = nullptr; }), 0b01110);
  EXPECT_EQ(fused_after([](GemmSpec&, GemmOperands& o) { o.sums = nullptr; }), 0b10011);
  EXPECT_EQ(fused_after([](GemmSpec& s, GemmOperands&) { s.bias = !s.bias; }), 0);
}

TEST(EpilogueRules, TakeAProductWithoutABiasWhereNoneIsSaidToBe) {
  const auto drop = [](GemmSpec& s, GemmOperands& o) { s.bias = false, o.bias = nullptr; };
  EXPECT_EQ(fused_after(drop), 0b11111);
}

TEST(EpilogueRules, AreForSixteenBits) {
  EXPECT_EQ(fused_after([](GemmSpec& s, GemmOperands&) { s.in = s.out = Dtype::f16; }), 0b11111);
  EXPECT_EQ(fused_after([](GemmSpec& s, GemmOperands&) { s.in = s.out = Dtype::f32; }), 0);
}

TEST(EpilogueRules, NothingIsAddedToAndNothingPlainIsFused) {
  EXPECT_EQ(fused_after([](GemmSpec& s, GemmOperands&) { s.accumulate = true; }), 0);
  EXPECT_EQ(fused_after([](GemmSpec& s, GemmOperands&) { s.epilogue = Epilogue::none; }), 0);
}

TEST(EpilogueRules, ColumnSumsAreThoseOfAMatrixThatLiesAsItIs) {
  EXPECT_EQ(fused_after([](GemmSpec& s, GemmOperands&) { s.transpose_b = true; }), 0b11011);
}

/// True if our own kernels take the product with GELU after a change.
template <class Change>
bool own_after(Change change) {
  GemmSpec spec = spec_of(Epilogue::gelu);
  GemmOperands operands{memory, memory, memory, memory, memory, memory};
  change(spec, operands);
  return takes_gelu_products(spec, operands);
}

TEST(EpilogueRules, OurKernelsTakeALinearLayerBeforeGelu) {
  EXPECT_TRUE(own_after([](GemmSpec&, GemmOperands&) {}));
  EXPECT_TRUE(own_after([](GemmSpec& s, GemmOperands&) { s.lda = 24, s.ldb = 128; }));
  EXPECT_TRUE(own_after([](GemmSpec& s, GemmOperands&) { s.m = 7, s.k = 8; }));
  EXPECT_FALSE(own_after([](GemmSpec& s, GemmOperands& o) { s.bias = false, o.bias = nullptr; }));
  for (const Epilogue other : {Epilogue::none, Epilogue::gelu_gradient, Epilogue::column_sums,
                               Epilogue::gelu_gradient_sums, Epilogue::residual})
    EXPECT_FALSE(own_after([=](GemmSpec& s, GemmOperands&) { s.epilogue = other; }));
}

/// True if our own kernels take the gradient of GELU, with sums, after a change.
template <class Change>
bool own_gradient_after(Change change) {
  static float scratch[4];
  GemmSpec spec = spec_of(Epilogue::gelu_gradient_sums);
  spec.bias = false;
  spec.transpose_b = true;
  spec.ldb = spec.k;
  GemmOperands operands{memory, memory, memory, nullptr, memory, memory, scratch};
  change(spec, operands);
  return takes_gelu_products(spec, operands);
}

TEST(EpilogueRules, OurKernelsTakeTheGradientOfALinearLayerBehindGelu) {
  EXPECT_TRUE(own_gradient_after([](GemmSpec&, GemmOperands&) {}));
  EXPECT_TRUE(own_gradient_after([](GemmSpec& s, GemmOperands& o) {
    s.epilogue = Epilogue::gelu_gradient, o.sums = nullptr, o.scratch = nullptr;
  }));
  EXPECT_FALSE(own_gradient_after([](GemmSpec& s, GemmOperands&) { s.transpose_b = false; }));
  EXPECT_FALSE(own_gradient_after([](GemmSpec& s, GemmOperands&) { s.bias = true; }));
  EXPECT_FALSE(own_gradient_after([](GemmSpec& s, GemmOperands&) { s.ldb += 4; }));
}

TEST(EpilogueRules, OurKernelsWantScratchForSumsOfAtMostATreesParts) {
  EXPECT_FALSE(own_gradient_after([](GemmSpec&, GemmOperands& o) { o.scratch = nullptr; }));
  EXPECT_TRUE(own_gradient_after([](GemmSpec& s, GemmOperands&) { s.m = 1 << 17; }));
  EXPECT_FALSE(own_gradient_after([](GemmSpec& s, GemmOperands&) { s.m = (1 << 17) + 1; }));
}

TEST(EpilogueRules, OurKernelsAreForBf16AndMatricesThatLieAsTheyAre) {
  EXPECT_FALSE(own_after([](GemmSpec& s, GemmOperands&) { s.in = s.out = Dtype::f16; }));
  EXPECT_FALSE(own_after([](GemmSpec& s, GemmOperands&) { s.transpose_a = true; }));
  EXPECT_FALSE(own_after([](GemmSpec& s, GemmOperands&) { s.transpose_b = true; }));
}

TEST(EpilogueRules, OurKernelsWantDenseResultsAndWholeRowsOfSixteenBytes) {
  EXPECT_FALSE(own_after([](GemmSpec& s, GemmOperands&) { s.ldc = 128; }));
  EXPECT_FALSE(own_after([](GemmSpec& s, GemmOperands&) { s.n = s.ldc = 60; }));
  EXPECT_FALSE(own_after([](GemmSpec& s, GemmOperands&) { s.k = 12; }));
  EXPECT_FALSE(own_after([](GemmSpec& s, GemmOperands&) { s.lda = 20; }));
  EXPECT_FALSE(own_after([](GemmSpec& s, GemmOperands&) { s.ldb = 68; }));
  for (const void* GemmOperands::*array : {&GemmOperands::a, &GemmOperands::b, &GemmOperands::bias})
    EXPECT_FALSE(own_after([=](GemmSpec&, GemmOperands& o) { o.*array = memory + 8; }));
  for (void* GemmOperands::*array : {&GemmOperands::c, &GemmOperands::aux})
    EXPECT_FALSE(own_after([=](GemmSpec&, GemmOperands& o) { o.*array = memory + 8; }));
}

TEST(EpilogueRules, OurKernelsCountRowsInThirtyTwoBits) {
  const auto rows = [](int64_t m) {
    return own_after([=](GemmSpec& s, GemmOperands&) { s.m = m; });
  };
  EXPECT_TRUE(rows(int64_t(1) << 30));
  EXPECT_FALSE(rows((int64_t(1) << 30) + 1));
}

}  // namespace
}  // namespace zero::kernels::vendor
