#pragma once
/// A product as cuBLASLt wants it described, and its algorithms: those that the library names,
/// their times, and the kept one. Only the cuBLASLt twins include this.

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

/// A product in the library's terms. The library counts columns first: our c [m, n] is its [n, m],
/// so it multiplies b by a. `left` is our b, `right` our a.
struct LtProduct {
  GemmSpec spec;
  int alignment;    ///< bytes that divide all addresses, at most 16
  bool fuses_bias;  ///< true: the library adds the bias; false: add_bias() does, to fp32
  LtDescription description;
  LtLayout left, right, out;

  LtProduct(const GemmSpec& wanted, int wanted_alignment);

  /// Sets the vector and the second matrix of the epilogue; each call gives a, b and c. The library
  /// takes their alignment from these pointers when it names algorithms.
  void set_epilogue_operands(const GemmOperands& operands) const;
  /// Returns the name of the product in the file of algorithms.
  std::string name() const;
};

/// Returns the largest power of two, at most 16, that divides every address of `operands`.
int alignment_of(const GemmOperands& operands);

/// Bytes that the library asks for on Hopper, for each stream that multiplies.
inline constexpr int64_t kWorkspaceBytes = int64_t(32) << 20;

/// A stream with memory that the library may use while it works there.
struct LtQueue {
  cudaStream_t stream;
  Arena workspace{kWorkspaceBytes, Place::device};
};

/// Returns name and version: "cuBLASLt 13.1.0".
std::string lt_library_name();

/// Makes one call of the library, by any algorithm that it names for this product. Asynchronous.
cublasStatus_t run_lt(const LtQueue& queue, const LtProduct& product,
                      const cublasLtMatmulAlgo_t& algorithm, const GemmOperands& operands);

/// Returns up to `most` algorithms that the library names for a product, the likeliest first, or
/// none. REQUIRES: the product's epilogue operands are set.
std::vector<cublasLtMatmulAlgo_t> named_algorithms(const LtProduct& product, int most);

/// Returns the fastest of `candidates` algorithms under load (hot_times.hpp); none if the library
/// can run none. The runs write to `operands`. Blocks until the device is done.
std::optional<Algorithm> measure_lt(const LtQueue& queue, const LtProduct& product,
                                    const GemmOperands& operands, int candidates);

/// Returns a kept algorithm, if the library still takes it.
std::optional<cublasLtMatmulAlgo_t> recall_lt(const LtProduct& product, const Algorithm& kept);

/// Returns the time of what `work` queues, in microseconds on the device, under load.
float hot_microseconds(cudaStream_t stream, const std::function<void()>& work);

}  // namespace zero::kernels::vendor
