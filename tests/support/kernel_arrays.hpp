#pragma once
/// Names of arrays for tests of kernels.

#include "tests/support/arrays.hpp"

namespace zero::kernels {

using testing::doubles;
using testing::noise;
using testing::relative_error;
using testing::rounding;
using testing::same_bits;

}  // namespace zero::kernels
