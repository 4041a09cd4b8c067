#include "kernels/vendor/cuda/lt_algorithms.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>

#include "kernels/vendor/hot_times.hpp"
#include "zero/base/error.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero::kernels::vendor {
namespace {

cudaDataType_t type_of(Dtype dtype) {
  return dtype == Dtype::bf16 ? CUDA_R_16BF : dtype == Dtype::f16 ? CUDA_R_16F : CUDA_R_32F;
}

LtLayout layout(int64_t rows, int64_t columns, int64_t ld, Dtype dtype) {
  cublasLtMatrixLayout_t made = nullptr;
  check_lt(cublasLtMatrixLayoutCreate(&made, type_of(dtype), uint64_t(rows), uint64_t(columns), ld),
           "describing a matrix");
  return LtLayout(made);
}

/// Returns the library's layout of our matrix [rows, columns], stored row by row.
LtLayout turned(int64_t rows, int64_t columns, int64_t ld, Dtype dtype) {
  return layout(columns, rows, ld, dtype);
}

template <class Value>
void set(const LtDescription& description, cublasLtMatmulDescAttributes_t which, Value value) {
  check_lt(cublasLtMatmulDescSetAttribute(description.get(), which, &value, sizeof value),
           "describing a product");
}

/// Returns the library's epilogue. Our rows are columns of its c, so its vectors along rows are
/// ours along n, and BGRADA sums our b over k.
cublasLtEpilogue_t epilogue_of(const GemmSpec& spec, bool fuses_bias) {
  switch (spec.epilogue) {
    case Epilogue::gelu:
      return fuses_bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    case Epilogue::gelu_gradient:
      return CUBLASLT_EPILOGUE_DGELU;
    case Epilogue::gelu_gradient_sums:
      return CUBLASLT_EPILOGUE_DGELU_BGRAD;
    case Epilogue::column_sums:
      return CUBLASLT_EPILOGUE_BGRADA;
    case Epilogue::residual:  // its matrix is added outside of the epilogue
    case Epilogue::none:
      break;
  }
  return fuses_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

bool has_aux(const GemmSpec& spec) {
  return spec.epilogue == Epilogue::gelu || spec.epilogue == Epilogue::gelu_gradient ||
         spec.epilogue == Epilogue::gelu_gradient_sums;
}

LtDescription describe(const GemmSpec& spec, bool fuses_bias) {
  cublasLtMatmulDesc_t made = nullptr;
  // Sums are fp32, and fp32 operands keep their mantissa.
  check_lt(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product");
  LtDescription description(made);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, spec.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, spec.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(spec, fuses_bias));
  if (has_aux(spec)) set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, spec.ldc);
  return description;
}

constexpr int kRepeats = 5;
constexpr float kNever = std::numeric_limits<float>::infinity();

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(Algorithm::description));

/// Returns the vendor's handle, one a process. It is never destroyed, since the driver may end
/// before.
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

/// A stopwatch for work on the device. Its events end with it.
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

/// Returns the rules for a measurement now. The device is still hot if the last one was a moment
/// ago.
HotRules rules_now() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kMoment = std::chrono::milliseconds(500);
  static std::mutex mutex;
  static std::optional<Clock::time_point> last;
  const std::lock_guard lock(mutex);
  const Clock::time_point now = Clock::now();
  HotRules rules;
  if (last && now - *last < kMoment) rules.load = rules.turn;
  last = now;
  return rules;
}

/// Returns the time of a run of each contender. Single runs choose who is measured under load.
std::vector<float> times_under_load(size_t contenders, const RunBurst& run) {
  std::vector<float> cool(contenders, kNever);
  for (size_t which = 0; which < contenders; ++which)
    for (int i = 0; i < kRepeats; ++i) cool[which] = std::min(cool[which], run(which, 1));
  return hot_times(cool, run, rules_now());
}

}  // namespace

void check_lt(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  refuse(Exit::kInternal, what, " failed in cuBLASLt: ", cublasLtGetStatusString(status));
}

LtProduct::LtProduct(const GemmSpec& wanted, int wanted_alignment)
    : spec(wanted),
      alignment(wanted_alignment),
      fuses_bias(wanted.bias && wanted.in == wanted.out),
      description(describe(wanted, fuses_bias)),
      left(turned(spec.transpose_b ? spec.n : spec.k, spec.transpose_b ? spec.k : spec.n, spec.ldb,
                  spec.in)),
      right(turned(spec.transpose_a ? spec.k : spec.m, spec.transpose_a ? spec.m : spec.k, spec.lda,
                   spec.in)),
      out(turned(spec.m, spec.n, spec.ldc, spec.out)) {}

void LtProduct::set_epilogue_operands(const GemmOperands& operands) const {
  if (fuses_bias) set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  if (has_aux(spec)) set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.aux);
  if (operands.sums != nullptr) set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.sums);
}

std::string LtProduct::name() const {
  static constexpr const char* kEpilogues[] = {
      "", " gelu", " gelu gradient", " gelu gradient, sums", " column sums", " residual"};
  return text(spec.m, "x", spec.n, "x", spec.k, " ld ", spec.lda, " ", spec.ldb, " ", spec.ldc, " ",
              name_of(spec.in), " to ", name_of(spec.out), spec.transpose_a ? " ta" : "",
              spec.transpose_b ? " tb" : "", spec.accumulate ? " add" : "",
              fuses_bias ? " bias" : "", kEpilogues[size_t(spec.epilogue)], " align ", alignment);
}

int alignment_of(const GemmOperands& operands) {
  // The widest access asks for no more. Larger common divisors differ from stage to stage and would
  // choose other algorithms there, with other bits.
  constexpr uintptr_t kMost = 16;
  const auto address = [](const void* at) { return reinterpret_cast<uintptr_t>(at); };
  const uintptr_t all = address(operands.a) | address(operands.b) | address(operands.c) |
                        address(operands.bias) | address(operands.aux) | address(operands.sums) |
                        kMost;
  return int(all & (~all + 1));
}

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
  // Parts of a sum meet in fp32, so the result is rounded once.
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

float hot_microseconds(cudaStream_t stream, const std::function<void()>& work) {
  const Stopwatch watch(stream);
  const RunBurst run = [&](size_t, int count) {
    return watch.microseconds([&] {
      for (int i = 0; i < count; ++i) work();
    });
  };
  return times_under_load(1, run).front();
}

std::optional<Algorithm> measure_lt(const LtQueue& queue, const LtProduct& product,
                                    const GemmOperands& operands, int candidates) {
  const std::vector<cublasLtMatmulAlgo_t> named = named_algorithms(product, candidates);
  const Stopwatch watch(queue.stream);
  const RunBurst run = [&](size_t which, int count) {
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    const float time = watch.microseconds([&] {
      for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; ++i)
        status = run_lt(queue, product, named[which], operands);
    });
    // The library may still refuse what it named; then another algorithm has to do.
    return status == CUBLAS_STATUS_SUCCESS ? time : kNever;
  };
  const std::vector<float> times = times_under_load(named.size(), run);
  const auto least = std::ranges::min_element(times);
  if (least == times.end() || *least == kNever) return std::nullopt;
  Algorithm best{.description = {}, .microseconds = *least};
  std::memcpy(best.description.data(), &named[size_t(least - times.begin())],
              sizeof best.description);
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
