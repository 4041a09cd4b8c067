#pragma once
/// Kernels of our own for products with GELU or its gradient on Hopper. They finish a tile while
/// the tensor cores multiply the next one. A twin: gelu_products.cpp with CUTLASS's headers,
/// gelu_products_absent.cpp without.

#include <span>

#include "kernels/vendor/gemm.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels::vendor {

/// A way to compute a product with GELU or its gradient by our own kernels.
struct GeluProduct {
  const char* name;  ///< tile and schedule
  /// Writes in bf16 what the epilogue says. Returns false, with nothing queued, if the device does
  /// not take the kernel. Asynchronous on `stream`. REQUIRES: takes_gelu_products(spec, operands).
  bool (*run)(Stream& stream, const GemmSpec& spec, const GemmOperands& operands);
  bool candidate = false;  ///< it has not been measured, or not even run, on a GPU
};

/// Returns the ways for an epilogue on this process's device. Empty unless its compute capability
/// is 9.0.
std::span<const GeluProduct> gelu_products(Epilogue epilogue);

/// Returns true if trainings measure the way beside the others: a candidate is offered where the
/// environment says ZERO_PRODUCTS=candidates, and nowhere else.
bool offers(const GeluProduct& product);

}  // namespace zero::kernels::vendor
