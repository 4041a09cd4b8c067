#pragma once
/// Kernels of our own for Epilogue::gelu on Hopper. They take GELU of a tile while the tensor cores
/// multiply the next one. A twin: gelu_products.cpp with CUTLASS's headers,
/// gelu_products_absent.cpp without.

#include <cuda_runtime_api.h>

#include <span>

#include "kernels/vendor/gemm.hpp"

namespace zero::kernels::vendor {

/// A kernel that computes Epilogue::gelu in one launch.
struct GeluProduct {
  const char* name;  ///< tile and schedule
  /// Writes aux and c in bf16. Returns false, with nothing queued, if the device does not take the
  /// kernel. Asynchronous on `stream`. REQUIRES: takes_gelu_products(spec, operands).
  bool (*run)(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands);
};

/// Returns the kernels for this process's device. Empty unless its compute capability is 9.0.
std::span<const GeluProduct> gelu_products();

}  // namespace zero::kernels::vendor
