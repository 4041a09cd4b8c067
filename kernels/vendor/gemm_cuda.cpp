// cuBLASLt.

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/vendor/add_bias.hpp"
#include "kernels/vendor/algorithm_cache.hpp"
#include "kernels/vendor/lt_product.hpp"
#include "src/device/cuda_status.hpp"
#include "src/device/native_stream.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/device.hpp"

namespace zero::kernels::vendor {
namespace {

/// More distinct products than any model here has; beyond it a thread starts its cache afresh.
constexpr size_t kPreparedMax = 1024;
/// What the library asks for on Hopper, for each stream that multiplies.
constexpr int64_t kWorkspaceBytes = int64_t(32) << 20;
/// Algorithms that are measured: the best is nearly always among the first few.
constexpr int kCandidates = 8;
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

std::string library_name() {
  int number[3] = {};
  for (int i = 0; i < 3; ++i)
    check_lt(cublasLtGetProperty(libraryPropertyType(i), &number[i]), "asking for the version");
  return text("cuBLASLt ", number[0], ".", number[1], ".", number[2]);
}

/// What measured times hold for: the GPU and the library.
std::string machine_name() {
  int number = 0;
  cudaDeviceProp properties{};
  check_cuda(cudaGetDevice(&number), "asking for the device");
  check_cuda(cudaGetDeviceProperties(&properties, number), "asking what a device is");
  return text(properties.name, " sm", properties.major, properties.minor, " x ",
              properties.multiProcessorCount, ", ", library_name());
}

struct Chooser {
  GemmRules rules;
  std::unique_ptr<AlgorithmCache> measured;
};

// Set before lanes start; the cache locks itself.
Chooser& chooser() {
  static Chooser one;
  return one;
}

AlgorithmCache& measured() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Chooser& own = chooser();
  if (!own.measured)
    own.measured = std::make_unique<AlgorithmCache>(own.rules.cache, machine_name());
  return *own.measured;
}

struct Prepared {
  LtProduct product;
  cublasLtMatmulAlgo_t algorithm;
};

/// What belongs to one thread and one of its streams.
struct StreamState {
  cudaStream_t stream;
  Arena workspace{kWorkspaceBytes, Place::device};
  std::vector<std::unique_ptr<Prepared>> prepared = {};
};

/// One call of the library; `algorithm` may be any that it names for this product.
void run(const StreamState& state, const LtProduct& product, const cublasLtMatmulAlgo_t& algorithm,
         const GemmOperands& operands) {
  const float one = 1.0f, before = product.spec.accumulate ? 1.0f : 0.0f;
  product.set_bias(operands.bias);
  check_lt(cublasLtMatmul(library(), product.description.get(), &one, operands.b,
                          product.left.get(), operands.a, product.right.get(), &before, operands.c,
                          product.out.get(), operands.c, product.out.get(), &algorithm,
                          state.workspace.data(), size_t(kWorkspaceBytes), state.stream),
           "a product");
}

template <class Value>
void prefer(const LtPreference& preference, cublasLtMatmulPreferenceAttributes_t which,
            Value value) {
  check_lt(cublasLtMatmulPreferenceSetAttribute(preference.get(), which, &value, sizeof value),
           "saying what is preferred");
}

/// Algorithms that the library names for a product, the likeliest first; at least one.
std::vector<cublasLtMatmulAlgo_t> candidates(const LtProduct& product) {
  cublasLtMatmulPreference_t made = nullptr;
  check_lt(cublasLtMatmulPreferenceCreate(&made), "saying what is preferred");
  const LtPreference preference(made);
  prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(kWorkspaceBytes));
  for (const auto which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(preference, which, uint32_t(product.alignment));
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> named{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library(), product.description.get(), product.left.get(), product.right.get(),
      product.out.get(), product.out.get(), preference.get(), kCandidates, named.data(), &count);
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i)
    if (named[size_t(i)].state == CUBLAS_STATUS_SUCCESS)
      algorithms.push_back(named[size_t(i)].algo);
  ZERO_REQUIRE(!algorithms.empty(), "cuBLASLt has no algorithm for a product of ", product.name());
  return algorithms;
}

/// Times on the device; the events end with it.
class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    for (cudaEvent_t& event : events_) check_cuda(cudaEventCreate(&event), "making an event");
  }
  ~Stopwatch() {
    for (cudaEvent_t event : events_) warn_cuda(cudaEventDestroy(event), "giving an event back");
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  template <class Work>
  float microseconds(const Work& work) const {
    check_cuda(cudaEventRecord(events_[0], stream_), "measuring");
    work();
    check_cuda(cudaEventRecord(events_[1], stream_), "measuring");
    check_cuda(cudaEventSynchronize(events_[1]), "measuring");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "measuring");
    return 1000.0f * milliseconds;
  }

 private:
  cudaStream_t stream_;
  std::array<cudaEvent_t, 2> events_{};
};

/// The fastest of the candidates, the least of some runs each; c is a copy of its own, since these
/// runs must leave the operands as they are.
Algorithm measure(const StreamState& state, const LtProduct& product, GemmOperands operands) {
  const GemmSpec& spec = product.spec;
  const Arena c(spec.m * spec.ldc * int64_t(bytes_of(spec.out)), Place::device);
  operands.c = c.data();
  const Stopwatch watch(state.stream);
  Algorithm best{.description = {}, .microseconds = std::numeric_limits<float>::infinity()};
  for (const cublasLtMatmulAlgo_t& algorithm : candidates(product)) {
    float least = std::numeric_limits<float>::infinity();
    for (int i = 0; i < kRepeats; ++i)
      least =
          std::min(least, watch.microseconds([&] { run(state, product, algorithm, operands); }));
    if (least >= best.microseconds) continue;
    best.microseconds = least;
    std::memcpy(best.description.data(), &algorithm, sizeof algorithm);
  }
  return best;
}

/// What was measured before, if the library still takes it.
bool recall(const LtProduct& product, const Algorithm& kept, cublasLtMatmulAlgo_t& algorithm) {
  std::memcpy(&algorithm, kept.description.data(), sizeof algorithm);
  cublasLtMatmulHeuristicResult_t facts{};
  return cublasLtMatmulAlgoCheck(library(), product.description.get(), product.left.get(),
                                 product.right.get(), product.out.get(), product.out.get(),
                                 &algorithm, &facts) == CUBLAS_STATUS_SUCCESS &&
         facts.workspaceSize <= size_t(kWorkspaceBytes);
}

cublasLtMatmulAlgo_t choose(const StreamState& state, const LtProduct& product,
                            const GemmOperands& operands) {
  product.set_bias(operands.bias);
  if (!chooser().rules.measure) return candidates(product).front();
  cublasLtMatmulAlgo_t algorithm{};
  const std::optional<Algorithm> kept = measured().find(product.name());
  if (kept && recall(product, *kept, algorithm)) return algorithm;
  // Memory for a second c may be short; then the first candidate has to do.
  if (free_device_bytes() < 2 * product.spec.m * product.spec.ldc * 4)
    return candidates(product).front();
  const Algorithm best = measure(state, product, operands);
  measured().keep(product.name(), best);
  std::memcpy(&algorithm, best.description.data(), sizeof algorithm);
  return algorithm;
}

StreamState& state_of(cudaStream_t stream) {
  thread_local std::vector<std::unique_ptr<StreamState>> states;
  for (const auto& known : states)
    if (known->stream == stream) return *known;
  states.push_back(std::make_unique<StreamState>(StreamState{.stream = stream}));
  return *states.back();
}

const Prepared& prepare(StreamState& state, const GemmSpec& spec, const GemmOperands& operands) {
  const int alignment = alignment_of(operands);
  for (const auto& known : state.prepared)
    if (known->product.alignment == alignment && known->product.spec == spec) return *known;
  if (state.prepared.size() == kPreparedMax) state.prepared.clear();
  LtProduct product(spec, alignment);
  const cublasLtMatmulAlgo_t algorithm = choose(state, product, operands);
  state.prepared.push_back(std::make_unique<Prepared>(Prepared{std::move(product), algorithm}));
  return *state.prepared.back();
}

}  // namespace

void set_gemm_rules(const GemmRules& rules) {
  chooser().rules = rules;
  chooser().measured.reset();
}

void gemm(Stream& stream, const GemmSpec& spec, const GemmOperands& operands) {
  StreamState& state = state_of(native_stream(stream));
  const Prepared& ready = prepare(state, spec, operands);
  run(state, ready.product, ready.algorithm, operands);
  if (spec.bias && !ready.product.fuses_bias) add_bias(stream, spec, operands);
}

const char* gemm_library() {
  static const std::string name = library_name();
  return name.c_str();
}

const char* gemm_isa() { return "sm_90"; }

}  // namespace zero::kernels::vendor
