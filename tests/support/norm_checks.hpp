#pragma once
/// Checks that tests of layer norm and RMS norm share. A case is a struct of arrays.

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "tests/support/arrays.hpp"

namespace zero::testing {

template <class Case, class T>
void expect_same_arrays(const Case& one, const Case& two,
                        std::initializer_list<std::vector<T> Case::*> arrays) {
  for (const auto array : arrays) EXPECT_TRUE(same_bits(one.*array, two.*array));
}

/// Expects the outputs that both norms have, within the rounding of T.
template <class T, class Case, class Doubles, class Gradients>
void expect_near(const Case& of, const Doubles& forward, const Gradients& gradients) {
  const double tolerance = rounding<T>() + 2e-6;
  EXPECT_LT(relative_error(of.y, forward), tolerance);
  EXPECT_LT(relative_error(of.dx, gradients.dx), tolerance);
  EXPECT_LT(relative_error(of.dweight, gradients.dweight), tolerance);
}

/// Expects the case's dx where dy or what is added lay. backward(arrays) writes dx again.
template <class Case, class Backward>
void expect_dx_in_place(Case& of, const Backward& backward) {
  for (auto* target : {&of.dy, &of.add}) {
    const auto kept = *target;
    auto in_place = of.arrays();
    in_place.dx = target->data();
    backward(in_place);
    EXPECT_TRUE(same_bits(*target, of.dx));
    *target = kept;
  }
}

}  // namespace zero::testing
