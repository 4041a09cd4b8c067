// Ranks: 1
#include <gtest/gtest.h>

#include "zero/advise/machine_file.hpp"

namespace zero::advise {
namespace {

TEST(ProductPeaks, AreMeasuredForTrainingsOfMoreOperationsThanThatTakes) {
  const double measuring = 6 * 2.0 * 1024 * 1024 * 1024;
  EXPECT_TRUE(is_worth_a_product_peak(1.01 * measuring));
  EXPECT_FALSE(is_worth_a_product_peak(0.99 * measuring));
  EXPECT_FALSE(is_worth_a_product_peak(0)) << "no step is to come";
}

TEST(ProductPeaks, AreThoseOfThisMachine) {
  const double peak = measure_product_peak(1, Dtype::f32);
  EXPECT_TRUE(peak == 0 || (peak > 1e8 && peak < 1e15)) << peak;
}

}  // namespace
}  // namespace zero::advise
