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

}  // namespace
}  // namespace zero::kernels::vendor
