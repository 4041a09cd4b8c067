// cuDNN through its header-only front end. A build needs the headers alone: the program opens the
// library at run time, and starts without it. Only this file and cudnn_graphs.hpp know its types.

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "kernels/vendor/algorithm_cache.hpp"
#include "kernels/vendor/cuda/attention.hpp"
#include "kernels/vendor/cuda/cudnn_graphs.hpp"
#include "zero/base/error.hpp"
#include "zero/device/gpu_runtime.hpp"

// The front end calls the library through this handle and wants it defined.
namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace zero::kernels::vendor {
namespace {

/// The least version; earlier ones have the workspace patched from the host in each call.
constexpr size_t kVersionLeast = 91600;
constexpr size_t kReasonBytesMost = 200;

struct Library {
  std::string name, trouble;
};

/// Names CUDA's runtime to the front end, which looks for older ones first. A user's own word
/// counts.
void name_runtime() {
  setenv("CUDNN_FRONTEND_CUDART_LIB_NAME", text("libcudart.so.", CUDART_VERSION / 1000).c_str(), 0);
}

Library open_library() {
  name_runtime();
  void* const handle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return {.name = "", .trouble = "libcudnn.so.9 is not found"};
  fe::cudnn_dlhandle = handle;
  const size_t version = fe::detail::get_backend_version();
  const std::string name =
      text("cuDNN ", version / 10000, ".", version / 100 % 100, ".", version % 100);
  if (version < kVersionLeast) return {.name = "", .trouble = name + " is older than 9.16"};
  return {.name = name, .trouble = ""};
}

/// Returns the library, opened at its first use and kept to the end.
const Library& library() {
  static const Library opened = open_library();
  return opened;
}

std::string shortened(const std::string& message) {
  return message.substr(0, std::min(message.find('\n'), kReasonBytesMost));
}

void check_cudnn(fe::error_t status, const char* what) {
  if (status.is_good()) return;
  refuse(Exit::kInternal, what, " failed in cuDNN: ", shortened(status.get_message()));
}

void warn_once(const std::string& reason) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (!said.insert(reason).second) return;
  warn("attention is computed by our own, slower kernels: ", reason);
}

/// Makes the plan that cuDNN names first among those that keep to the workspace.
fe::error_t make_plan(Graph& graph, const Machine& machine, int64_t workspace_most) {
  if (const auto status = graph.validate(); status.is_bad()) return status;
  const auto built =
      machine.handle ? graph.build_operation_graph(machine.handle) : graph.build_operation_graph();
  if (built.is_bad()) return built;
  if (const auto status = graph.create_execution_plans({fe::HeurMode_t::A}); status.is_bad())
    return status;
  graph.deselect_workspace_greater_than(workspace_most);
  if (const auto status = graph.check_support(); status.is_bad()) return status;
  return graph.build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE);
}

/// The two plans of a problem, or the reason why there are none.
struct Plans {
  std::shared_ptr<Graph> forward, backward;
  std::string refusal;
};

Plans make_both(const AttentionProblem& problem, const Machine& machine) {
  Plans plans{AttentionGraph(problem, machine).forward(),
              AttentionGraph(problem, machine).backward(), ""};
  const int64_t most = library_workspace_bytes(problem.extents);
  for (const auto& graph : {plans.forward, plans.backward}) {
    fe::error_t status = make_plan(*graph, machine, most);
    if (status.is_bad()) return {nullptr, nullptr, shortened(status.get_message())};
  }
  return plans;
}

/// Makes both plans. Turns exceptions of the front end into refusals.
Plans make_plans(const AttentionProblem& problem, const Machine& machine) {
  const std::string why = reason_for_own(problem);
  if (!why.empty()) return {nullptr, nullptr, why};
  try {
    return make_both(problem, machine);
  } catch (const std::exception& failure) {
    return {nullptr, nullptr, shortened(failure.what())};
  }
}

int architecture_in_use() {
  int device = 0, major = 0, minor = 0;
  check_gpu(cudaGetDevice(&device), "asking for the device");
  check_gpu(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
            "asking what a device is");
  check_gpu(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
            "asking what a device is");
  return 10 * major + minor;
}

/// The vendor's handle and the plans, one for the process, so a problem is decided once for all
/// streams. All calls hold the mutex; they only queue work, and one lane makes nearly all of them.
struct Shared {
  std::mutex mutex;
  Machine machine;
  cudaStream_t stream = nullptr;  ///< stream that the handle has now
  MadeOnce<AttentionProblem, Plans> plans;
  std::unordered_map<int64_t, void*> operands;

  void set_stream(cudaStream_t wanted) {
    if (wanted == stream) return;
    const cudnnStatus_t status = fe::detail::set_stream(machine.handle, wanted);
    ZERO_REQUIRE(status == CUDNN_STATUS_SUCCESS, library().name, " does not take a stream (",
                 int(status), ")");
    stream = wanted;
  }

  const Plans& plans_of(const AttentionProblem& problem) {
    return plans.get(problem, [&](const AttentionProblem& wanted) {
      Plans made = make_plans(wanted, machine);
      if (!made.refusal.empty()) warn_once(made.refusal);
      return made;
    });
  }
};

std::unique_ptr<Shared> make_shared() {
  auto made = std::make_unique<Shared>();
  made->machine.architecture = architecture_in_use();
  const cudnnStatus_t status = fe::detail::create_handle(&made->machine.handle);
  ZERO_REQUIRE(status == CUDNN_STATUS_SUCCESS, "starting ", library().name, " failed (",
               int(status), "): is there memory left on the device?");
  return made;
}

/// Returns the process's state. It is never destroyed, since the driver may end before.
Shared& shared() {
  static Shared* const one = make_shared().release();
  return *one;
}

/// Sets all addresses. The map keeps its nodes, so only first calls take memory.
void set_operands(std::unordered_map<int64_t, void*>& operands, const CudnnArrays& arrays) {
  const AttentionDropout* const dropout = arrays.dropout;
  const std::pair<Name, const void*> all[] = {{kQ, arrays.q},
                                              {kK, arrays.k},
                                              {kV, arrays.v},
                                              {kY, arrays.y},
                                              {kLogsumexp, arrays.logsumexp},
                                              {kDy, arrays.dy},
                                              {kDq, arrays.dq},
                                              {kDk, arrays.dk},
                                              {kDv, arrays.dv},
                                              {kSeed, dropout ? &dropout->seed : nullptr},
                                              {kOffset, dropout ? &dropout->offset : nullptr},
                                              {kQueries, arrays.queries},
                                              {kKeys, arrays.keys},
                                              {kBias, arrays.bias},
                                              {kDbias, arrays.dbias}};
  for (const auto& [name, array] : all) operands[name] = const_cast<void*>(array);
}

void require_aligned(const CudnnArrays& arrays) {
  for (const void* array :
       {arrays.q, arrays.k, arrays.v, arrays.y, arrays.dy, arrays.bias,
        static_cast<const void*>(arrays.logsumexp), static_cast<const void*>(arrays.dq),
        static_cast<const void*>(arrays.dk), static_cast<const void*>(arrays.dv),
        static_cast<const void*>(arrays.dbias), static_cast<const void*>(arrays.workspace)})
    ZERO_REQUIRE(reinterpret_cast<uintptr_t>(array) % 16 == 0, "attention over an array at ", array,
                 ": addresses must be multiples of 16 bytes");
}

void run(Stream& stream, const AttentionProblem& problem, const CudnnArrays& arrays,
         std::shared_ptr<Graph> Plans::*direction, const char* what) {
  require_aligned(arrays);
  Shared& state = shared();
  const std::lock_guard lock(state.mutex);
  const std::shared_ptr<Graph>& graph = state.plans_of(problem).*direction;
  ZERO_REQUIRE(graph, what, " that cuDNN does not take: cudnn_takes() says so");
  state.set_stream(native_stream(stream));
  set_operands(state.operands, arrays);
  check_cudnn(graph->execute(state.machine.handle, state.operands, arrays.workspace), what);
}

}  // namespace

const std::string& cudnn_name() { return library().name; }

bool cudnn_takes(const AttentionProblem& problem) {
  if (!library().trouble.empty()) {
    warn_once(library().trouble);
    return false;
  }
  Shared& state = shared();
  const std::lock_guard lock(state.mutex);
  return state.plans_of(problem).refusal.empty();
}

void cudnn_attention(Stream& stream, const AttentionProblem& problem, const CudnnArrays& arrays) {
  run(stream, problem, arrays, &Plans::forward, "attention");
}

void cudnn_attention_backward(Stream& stream, const AttentionProblem& problem,
                              const CudnnArrays& arrays) {
  run(stream, problem, arrays, &Plans::backward, "the gradient of attention");
}

CudnnForecast cudnn_forecast(const std::string& machine, int architecture,
                             const AttentionProblem& problem) {
  if (!library().trouble.empty()) return {.refusal = library().trouble};
  const auto described = std::make_shared<fe::DeviceProperties>();
  check_cudnn(described->deserialize({machine.begin(), machine.end()}), "reading what a GPU is");
  const Plans plans = make_plans(problem, {.described = described, .architecture = architecture});
  CudnnForecast forecast{.refusal = plans.refusal};
  if (!plans.refusal.empty()) return forecast;
  check_cudnn(plans.forward->get_workspace_size(forecast.forward_bytes), "asking for a workspace");
  check_cudnn(plans.backward->get_workspace_size(forecast.backward_bytes),
              "asking for a workspace");
  return forecast;
}

}  // namespace zero::kernels::vendor
