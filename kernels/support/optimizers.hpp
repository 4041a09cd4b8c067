#pragma once
/// The formula of every optimizer that updates elements by themselves.

#include <type_traits>

#include "kernels/support/adam.hpp"
#include "kernels/support/lion.hpp"
#include "kernels/support/sgd.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

/// Calls f(std::type_identity<Formula>()) for the formula of these settings.
template <class F>
void with_formula(const OptimizerConfig& settings, const F& f) {
  switch (settings.type) {
    case OptimizerType::AdamW:
      return f(std::type_identity<Adam<true>>());
    case OptimizerType::Adam:
      if (settings.adam_w_mode) return f(std::type_identity<Adam<true>>());
      return f(std::type_identity<Adam<false>>());
    case OptimizerType::Lion:
      return f(std::type_identity<Lion>());
    case OptimizerType::SGD:
      if (settings.momentum > 0) return f(std::type_identity<Sgd<true>>());
      return f(std::type_identity<Sgd<false>>());
    case OptimizerType::LAMB:
      break;
  }
  ZERO_REQUIRE(false, "optimizer ", int(settings.type), " has no formula of single elements");
}

}  // namespace zero::kernels
