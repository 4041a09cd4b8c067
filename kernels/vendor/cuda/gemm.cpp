// cuBLASLt: products, and products with an epilogue.

#include "kernels/vendor/gemm.hpp"

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/vendor/algorithm_cache.hpp"
#include "kernels/vendor/cuda/gelu_products.hpp"
#include "kernels/vendor/cuda/lt_algorithms.hpp"
#include "kernels/vendor/epilogue_rules.hpp"
#include "zero/device/device.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero::kernels::vendor {
namespace {

/// More distinct products than any model here has. Beyond it a thread starts its cache afresh.
constexpr size_t kPreparedMax = 1024;

/// Returns the name of all that a measured time holds for: GPU, library, request, way of timing.
/// Times taken otherwise have another name and are not seen.
std::string machine_name(int candidates) {
  int number = 0;
  cudaDeviceProp properties{};
  check_gpu(cudaGetDevice(&number), "asking for the device");
  check_gpu(cudaGetDeviceProperties(&properties, number), "asking what a device is");
  return text(properties.name, " sm", properties.major, properties.minor, " x ",
              properties.multiProcessorCount, ", ", lt_library_name(),
              ", parts summed in fp32, best of ", candidates, " under load");
}

struct Chooser {
  GemmRules rules;
  std::unique_ptr<AlgorithmCache> measured;
};

// The rules are set before lanes start; the cache locks itself.
Chooser& chooser() {
  static Chooser one;
  return one;
}

AlgorithmCache& measured() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Chooser& own = chooser();
  if (!own.measured)
    own.measured =
        std::make_unique<AlgorithmCache>(own.rules.cache, machine_name(chooser().rules.candidates));
  return *own.measured;
}

/// The choice for a product.
struct Prepared {
  LtProduct product;
  cublasLtMatmulAlgo_t algorithm;
  bool apart = false;                ///< kernels of their own; in run_faster(): the first way
  const GeluProduct* own = nullptr;  ///< this kernel of ours; null: the library
};

/// The state of one thread for one of its streams.
struct StreamState {
  LtQueue queue;
  int rules = 0;  ///< rules_set() when the choices were made
  std::vector<std::unique_ptr<Prepared>> prepared = {};
};

/// Returns the number of calls of set_gemm_rules(). A choice holds for the rules that made it.
std::atomic<int>& rules_set() {
  static std::atomic<int> count = 0;
  return count;
}

cublasLtMatmulAlgo_t algorithm_of(const Algorithm& kept) {
  cublasLtMatmulAlgo_t algorithm{};
  std::memcpy(&algorithm, kept.description.data(), sizeof algorithm);
  return algorithm;
}

cublasLtMatmulAlgo_t first_named(const LtProduct& product) {
  const std::vector<cublasLtMatmulAlgo_t> named =
      named_algorithms(product, chooser().rules.candidates);
  ZERO_REQUIRE(!named.empty(), "cuBLASLt has no algorithm for a product of ", product.name());
  return named.front();
}

cublasLtMatmulAlgo_t choose(const StreamState& state, const LtProduct& product,
                            const GemmOperands& operands) {
  product.set_epilogue_operands(operands);
  if (!chooser().rules.measure) return first_named(product);
  const GemmSpec& spec = product.spec;
  // A measurement must not change a sum, and a second one may not fit the memory.
  const int64_t bytes = spec.accumulate ? spec.m * spec.ldc * int64_t(bytes_of(spec.out)) : 0;
  if (bytes > 0 && free_device_bytes() < 2 * bytes && !measured().find(product.name()))
    return first_named(product);
  const Way ways[] = {
      {.name = product.name(),
       .takes = [&](const Algorithm& kept) { return recall_lt(product, kept).has_value(); },
       .measure =
           [&] {
             const Arena c = spec.accumulate ? Arena(bytes, Place::device) : Arena();
             GemmOperands trial = operands;
             if (spec.accumulate) trial.c = c.data();
             return measure_lt(state.queue, product, trial, chooser().rules.candidates);
           }}};
  return algorithm_of(fastest_way(measured(), ways).algorithm);
}

StreamState& state_of(cudaStream_t stream) {
  thread_local std::vector<std::unique_ptr<StreamState>> states;
  const int rules = rules_set();
  for (const auto& known : states) {
    if (known->queue.stream != stream) continue;
    if (std::exchange(known->rules, rules) != rules) known->prepared.clear();
    return *known;
  }
  states.push_back(
      std::make_unique<StreamState>(StreamState{.queue = {.stream = stream}, .rules = rules}));
  return *states.back();
}

const Prepared* find(const StreamState& state, const GemmSpec& spec, int alignment) {
  for (const auto& known : state.prepared)
    if (known->product.alignment == alignment && known->product.spec == spec) return known.get();
  return nullptr;
}

const Prepared& keep(StreamState& state, Prepared prepared) {
  if (state.prepared.size() == kPreparedMax) state.prepared.clear();
  state.prepared.push_back(std::make_unique<Prepared>(std::move(prepared)));
  return *state.prepared.back();
}

const Prepared& prepare(StreamState& state, const GemmSpec& spec, const GemmOperands& operands) {
  const int alignment = alignment_of(operands);
  if (const Prepared* const known = find(state, spec, alignment)) return *known;
  LtProduct product(spec, alignment);
  const cublasLtMatmulAlgo_t algorithm = choose(state, product, operands);
  return keep(state, {std::move(product), algorithm});
}

/// Returns the way that runs `apart`, which is no call of the library.
Way way_of(const std::string& name, cudaStream_t stream, const Apart& apart) {
  return {.name = name,
          .takes = [](const Algorithm&) { return true; },
          .measure =
              [stream, &apart] {
                const float time = hot_microseconds(stream, [&] { apart.run(); });
                return std::optional(Algorithm{.description = {}, .microseconds = time});
              }};
}

/// Returns the way of a kernel of our own. A kept time says nothing of the device's room now, so
/// `takes` runs the kernel once.
Way way_of(const std::string& name, Stream& stream, const GeluProduct& own, const GemmSpec& spec,
           const GemmOperands& operands) {
  const auto run = [=, &stream, &own] { return own.run(stream, spec, operands); };
  const auto measure = [=, &stream]() -> std::optional<Algorithm> {
    if (!run()) return std::nullopt;
    const float time = hot_microseconds(native_stream(stream), [&] { run(); });
    return Algorithm{.description = {}, .microseconds = time};
  };
  return {.name = name, .takes = [=](const Algorithm&) { return run(); }, .measure = measure};
}

/// Returns the choice for a fused product. Its results are written whole, so all ways are measured
/// on the operands themselves, without more memory.
const Prepared& prepare_fused(Stream& stream, StreamState& state, const GemmSpec& spec,
                              const GemmOperands& operands, const Apart& apart) {
  const int alignment = alignment_of(operands);
  if (const Prepared* const known = find(state, spec, alignment)) return *known;
  // The first run chooses the product inside, because whoever measures has the file's only turn.
  apart.run();
  LtProduct product(spec, alignment);
  product.set_epilogue_operands(operands);
  std::vector<Way> ways{
      {.name = product.name(),
       .takes = [&](const Algorithm& kept) { return recall_lt(product, kept).has_value(); },
       .measure =
           [&] { return measure_lt(state.queue, product, operands, chooser().rules.candidates); }},
      way_of(product.name() + " apart", state.queue.stream, apart)};
  std::vector<const GeluProduct*> own(ways.size());  // kernel of each way; null: the library's
  if (takes_gelu_products(spec, operands)) {
    for (const GeluProduct& one : gelu_products(spec.epilogue)) {
      if (!offers(one)) continue;
      ways.push_back(way_of(text(product.name(), " by ", one.name), stream, one, spec, operands));
      own.push_back(&one);
    }
  }
  const FastestWay best = fastest_way(measured(), ways);
  return keep(state, {.product = std::move(product),
                      .algorithm = algorithm_of(best.algorithm),
                      .apart = best.way == 1,
                      .own = own[best.way]});
}

/// True if `first` is faster. A measurement must not change the sum, so both write to a second one.
/// If memory is short for it, returns true and measures again at the next start.
bool first_is_faster(const StreamState& state, const std::string& name, const GemmSpec& spec,
                     float*& c, const Apart& first, const Apart& second) {
  const int64_t bytes = spec.m * spec.ldc * int64_t(sizeof(float));
  if (free_device_bytes() < 2 * bytes) return true;
  const Arena trial(bytes, Place::device);
  float* const own = std::exchange(c, reinterpret_cast<float*>(trial.data()));
  // The first runs choose the products inside, because whoever measures has the file's only turn.
  first.run();
  second.run();
  const Way ways[] = {way_of(name + " inside", state.queue.stream, first),
                      way_of(name + " beside", state.queue.stream, second)};
  const bool faster = fastest_way(measured(), ways).way == 0;
  c = own;
  return faster;
}

}  // namespace

void set_gemm_rules(const GemmRules& rules) {
  chooser().rules = rules;
  chooser().measured.reset();
  ++rules_set();
}

void gemm(Stream& stream, const GemmSpec& spec, const GemmOperands& operands) {
  StreamState& state = state_of(native_stream(stream));
  const Prepared& ready = prepare(state, spec, operands);
  check_lt(run_lt(state.queue, ready.product, ready.algorithm, operands), "a product");
  if (spec.bias && !ready.product.fuses_bias) add_bias(stream, spec, operands);
}

bool has_epilogues() { return true; }

void fused_gemm(Stream& stream, const GemmSpec& spec, const GemmOperands& operands,
                const Apart& apart) {
  if (!chooser().rules.measure || !may_fuse(spec, operands)) return apart.run();
  StreamState& state = state_of(native_stream(stream));
  const Prepared& ready = prepare_fused(stream, state, spec, operands, apart);
  if (ready.apart) return apart.run();
  if (ready.own != nullptr) {
    const bool ran = ready.own->run(stream, spec, operands);
    ZERO_REQUIRE(ran, "the device no longer takes ", ready.own->name, " for a product of ",
                 ready.product.name());
    return;
  }
  check_lt(run_lt(state.queue, ready.product, ready.algorithm, operands),
           "a product with an epilogue");
}

void run_faster(Stream& stream, const GemmSpec& spec, const GemmOperands& operands, float*& c,
                const Apart& first, const Apart& second) {
  if (!chooser().rules.measure) return first.run();
  StreamState& state = state_of(native_stream(stream));
  const int alignment = alignment_of(operands);
  const Prepared* ready = find(state, spec, alignment);
  if (ready == nullptr) {
    LtProduct product(spec, alignment);
    const bool faster = first_is_faster(state, product.name(), spec, c, first, second);
    ready = &keep(state, {std::move(product), {}, faster});
  }
  return ready->apart ? first.run() : second.run();
}

const char* gemm_library() {
  static const std::string name = lt_library_name();
  return name.c_str();
}

void prepare_gemm(Stream&, const GemmSpec&) {}

int64_t gemms_made() { return 0; }

const char* gemm_isa() { return "sm_90"; }

}  // namespace zero::kernels::vendor
