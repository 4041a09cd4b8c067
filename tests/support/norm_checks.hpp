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
