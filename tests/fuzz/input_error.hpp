#pragma once

#include "zero/base/error.hpp"

namespace zero {

/// Calls `read`, which may throw one error of the input. `is_right` judges the error as well.
template <class Read, class Judge>
void expect_input_error_at_most(const Read& read, const Judge& is_right) {
  try {
    read();
  } catch (const Error& error) {
    ZERO_REQUIRE(error.exit() == Exit::kInput && is_right(error), error.what());
  }
}
template <class Read>
void expect_input_error_at_most(const Read& read) {
  expect_input_error_at_most(read, [](const Error&) { return true; });
}

}  // namespace zero
