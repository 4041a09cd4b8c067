#pragma once
/// The algorithms of cuBLASLt for one product: which it names, how fast they are, which was kept.
/// Included by the cuBLASLt twins alone.

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/vendor/algorithm_cache.hpp"
#include "kernels/vendor/cuda/lt_product.hpp"
#include "zero/device/arena.hpp"

namespace zero::kernels::vendor {

/// What the library asks for on Hopper, for each stream that multiplies.
inline constexpr int64_t kWorkspaceBytes = int64_t(32) << 20;

/// A stream with memory that the library may use while it works there.
struct LtQueue {
  cudaStream_t stream;
  Arena workspace{kWorkspaceBytes, Place::device};
};

/// Name and version: "cuBLASLt 13.1.0".
std::string lt_library_name();

/// One call of the library; `algorithm` may be any that it names for this product.
cublasStatus_t run_lt(const LtQueue& queue, const LtProduct& product,
                      const cublasLtMatmulAlgo_t& algorithm, const GemmOperands& operands);

/// Up to `most` algorithms that the library names for a product, the likeliest first; it may know
/// none. The product's epilogue operands are set.
std::vector<cublasLtMatmulAlgo_t> named_algorithms(const LtProduct& product, int most);

/// The fastest of so many, the least of some runs each, which write to `operands`; none: the
/// library can do it with none of them. Returns when the device is done.
std::optional<Algorithm> measure_lt(const LtQueue& queue, const LtProduct& product,
                                    const GemmOperands& operands, int candidates);

/// The algorithm that was measured before, if the library still takes it.
std::optional<cublasLtMatmulAlgo_t> recall_lt(const LtProduct& product, const Algorithm& kept);

/// The least time of some runs of what `work` queues, in microseconds on the device.
float least_microseconds(cudaStream_t stream, const std::function<void()>& work);

}  // namespace zero::kernels::vendor
