#include "kernels/vendor/cuda/lt_algorithms.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "zero/base/error.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero::kernels::vendor {
namespace {

constexpr int kRepeats = 5;

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(Algorithm::description));

/// The vendor's handle, one a process; it ends with the process, since the driver may end before.
cublasLtHandle_t library() {
  static const cublasLtHandle_t handle = [] {
    cublasLtHandle_t made = nullptr;
    check_lt(cublasLtCreate(&made), "starting the library");
    return made;
  }();
  return handle;
}

template <class Value>
void prefer(const LtPreference& preference, cublasLtMatmulPreferenceAttributes_t which,
            Value value) {
  check_lt(cublasLtMatmulPreferenceSetAttribute(preference.get(), which, &value, sizeof value),
           "saying what is preferred");
}

/// Times on the device; the events end with it.
class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {}

  float microseconds(const std::function<void()>& work) const {
    check_gpu(cudaEventRecord(begin_.get(), stream_), "measuring");
    work();
    check_gpu(cudaEventRecord(end_.get(), stream_), "measuring");
    check_gpu(cudaEventSynchronize(end_.get()), "measuring");
    float milliseconds = 0;
    check_gpu(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "measuring");
    return 1000.0f * milliseconds;
  }

 private:
  cudaStream_t stream_;
  GpuEvent begin_{cudaEventDefault}, end_{cudaEventDefault};
};

}  // namespace

std::string lt_library_name() {
  int number[3] = {};
  for (int i = 0; i < 3; ++i)
    check_lt(cublasLtGetProperty(libraryPropertyType(i), &number[i]), "asking for the version");
  return text("cuBLASLt ", number[0], ".", number[1], ".", number[2]);
}

cublasStatus_t run_lt(const LtQueue& queue, const LtProduct& product,
                      const cublasLtMatmulAlgo_t& algorithm, const GemmOperands& operands) {
  const bool residual = product.spec.epilogue == Epilogue::residual;
  const float one = 1.0f, factor = product.spec.accumulate || residual ? 1.0f : 0.0f;
  const void* const added = residual ? operands.aux : operands.c;
  product.set_epilogue_operands(operands);
  return cublasLtMatmul(library(), product.description.get(), &one, operands.b, product.left.get(),
                        operands.a, product.right.get(), &factor, added, product.out.get(),
                        operands.c, product.out.get(), &algorithm, queue.workspace.data(),
                        size_t(kWorkspaceBytes), queue.stream);
}

std::vector<cublasLtMatmulAlgo_t> named_algorithms(const LtProduct& product, int most) {
  cublasLtMatmulPreference_t made = nullptr;
  check_lt(cublasLtMatmulPreferenceCreate(&made), "saying what is preferred");
  const LtPreference preference(made);
  prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(kWorkspaceBytes));
  // Parts of a sum meet in fp32: the result is rounded once.
  prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (const auto which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(preference, which, uint32_t(product.alignment));
  std::array<cublasLtMatmulHeuristicResult_t, kCandidatesMost> named{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library(), product.description.get(), product.left.get(), product.right.get(),
      product.out.get(), product.out.get(), preference.get(), std::min(most, kCandidatesMost),
      named.data(), &count);
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i)
    if (named[size_t(i)].state == CUBLAS_STATUS_SUCCESS)
      algorithms.push_back(named[size_t(i)].algo);
  return algorithms;
}

float least_microseconds(cudaStream_t stream, const std::function<void()>& work) {
  const Stopwatch watch(stream);
  float least = std::numeric_limits<float>::infinity();
  for (int i = 0; i < kRepeats; ++i) least = std::min(least, watch.microseconds(work));
  return least;
}

std::optional<Algorithm> measure_lt(const LtQueue& queue, const LtProduct& product,
                                    const GemmOperands& operands, int candidates) {
  std::optional<Algorithm> best;
  for (const cublasLtMatmulAlgo_t& algorithm : named_algorithms(product, candidates)) {
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    const float least = least_microseconds(queue.stream, [&] {
      if (status == CUBLAS_STATUS_SUCCESS) status = run_lt(queue, product, algorithm, operands);
    });
    // What is named may still be refused: then the next one has to do.
    if (status != CUBLAS_STATUS_SUCCESS || (best && least >= best->microseconds)) continue;
    best = Algorithm{.description = {}, .microseconds = least};
    std::memcpy(best->description.data(), &algorithm, sizeof algorithm);
  }
  return best;
}

std::optional<cublasLtMatmulAlgo_t> recall_lt(const LtProduct& product, const Algorithm& kept) {
  cublasLtMatmulAlgo_t algorithm{};
  std::memcpy(&algorithm, kept.description.data(), sizeof algorithm);
  cublasLtMatmulHeuristicResult_t facts{};
  const cublasStatus_t status = cublasLtMatmulAlgoCheck(
      library(), product.description.get(), product.left.get(), product.right.get(),
      product.out.get(), product.out.get(), &algorithm, &facts);
  const bool takes =
      status == CUBLAS_STATUS_SUCCESS && facts.workspaceSize <= size_t(kWorkspaceBytes);
  return takes ? std::optional(algorithm) : std::nullopt;
}

}  // namespace zero::kernels::vendor
