#pragma once
/// A product as cuBLASLt wants it described, and the algorithms for it: which the library names,
/// how fast they are, which was kept. Included by the cuBLASLt twins alone.

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/vendor/algorithm_cache.hpp"
#include "kernels/vendor/gemm.hpp"
#include "zero/device/arena.hpp"

namespace zero::kernels::vendor {

/// Throws Error(kInternal) naming `what` and the library's own text unless `status` is success.
void check_lt(cublasStatus_t status, const char* what);

template <class Opaque, cublasStatus_t (*kDestroy)(Opaque*)>
struct LtDestroy {
  void operator()(Opaque* object) const { static_cast<void>(kDestroy(object)); }
};
using LtDescription =
    std::unique_ptr<cublasLtMatmulDescOpaque_t,
                    LtDestroy<cublasLtMatmulDescOpaque_t, cublasLtMatmulDescDestroy>>;
using LtLayout =
    std::unique_ptr<cublasLtMatrixLayoutOpaque_t,
                    LtDestroy<cublasLtMatrixLayoutOpaque_t, cublasLtMatrixLayoutDestroy>>;
using LtPreference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                    LtDestroy<cublasLtMatmulPreferenceOpaque_t, cublasLtMatmulPreferenceDestroy>>;

/// The library counts columns first: what we call c [m, n] is its [n, m], and so it multiplies
/// b by a. `left` is our b, `right` our a.
struct LtProduct {
  GemmSpec spec;
  int alignment;    ///< bytes that all addresses are multiples of, at most 16
  bool fuses_bias;  ///< the library adds the bias; else it is added afterwards, to fp32
  LtDescription description;
  LtLayout left, right, out;

  LtProduct(const GemmSpec& wanted, int wanted_alignment);

  /// The vector and the second matrix of the epilogue; a, b and c are given with each call. The
  /// library takes their alignment from it when it names algorithms.
  void set_epilogue_operands(const GemmOperands& operands) const;
  /// What the product is called in the file of algorithms.
  std::string name() const;
};

/// Bytes that every address of `operands` is a multiple of: a power of two, at most 16.
int alignment_of(const GemmOperands& operands);

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

/// Returns the fastest of so many under load (hot_times.hpp); none: the library can do it with none
/// of them. The runs write to `operands`. Returns when the device is done.
std::optional<Algorithm> measure_lt(const LtQueue& queue, const LtProduct& product,
                                    const GemmOperands& operands, int candidates);

/// The algorithm that was measured before, if the library still takes it.
std::optional<cublasLtMatmulAlgo_t> recall_lt(const LtProduct& product, const Algorithm& kept);

/// Returns the time of what `work` queues, in microseconds on the device, under load.
float hot_microseconds(cudaStream_t stream, const std::function<void()>& work);

}  // namespace zero::kernels::vendor
