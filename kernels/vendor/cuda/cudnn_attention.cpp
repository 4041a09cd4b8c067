// cuDNN through its header-only front end. The library is opened while running: a build needs its
// headers alone, and a program starts where it is missing. Only this file knows its types.
//
// A bias of the scores is one more tensor of both graphs, set_bias() of their attributes, and
// set_dbias() of the backward one; the plan with dbias is the one with the workspace that is
// counted here already.

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include "kernels/vendor/cuda/cudnn_attention.hpp"

#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "kernels/vendor/made_once.hpp"
#include "zero/base/error.hpp"
#include "zero/device/gpu_runtime.hpp"

// What the front end calls the library through; it wants this defined.
namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace zero::kernels::vendor {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Tensor_attributes>;

/// Before it, the front end patches the workspace from the host in each call.
constexpr size_t kVersionLeast = 91600;
constexpr size_t kReasonBytesMost = 200;

/// Names of the tensors of both graphs.
enum Name : int64_t { kQ = 1, kK, kV, kY, kLogsumexp, kDy, kDq, kDk, kDv, kSeed, kOffset };

struct Library {
  std::string name, trouble;
};

/// The front end looks for CUDA's runtime by name, for older ones first. A user's own word counts.
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

/// Opened at its first use, and kept to the end.
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

/// The GPU that plans are made for: one that there is, or one that is only described.
struct Machine {
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<const fe::DeviceProperties> described = nullptr;
  int architecture = 0;
};

std::vector<int64_t> dimensions(const AttentionExtents& e, int64_t width) {
  return {e.samples, e.heads, e.length, width};
}

std::vector<int64_t> strides(const AttentionExtents& e, int64_t parts) {
  const HeadStrides stride = head_strides(e, parts);
  return {stride.sample, stride.head, stride.row, 1};
}

/// Both graphs of a problem, and the tensors that they share.
class Builder {
 public:
  Builder(const AttentionProblem& problem, const Machine& machine)
      : extents_(problem.extents), problem_(problem), graph_(std::make_shared<Graph>()) {
    graph_
        ->set_io_data_type(problem.dtype == Dtype::bf16 ? fe::DataType_t::BFLOAT16
                                                        : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT)
        .set_sm_version(machine.architecture);
    if (machine.described) graph_->set_device_properties(machine.described);
  }

  std::shared_ptr<Graph> forward() {
    fe::graph::SDPA_attributes attributes;
    set(attributes.set_name("attention").set_generate_stats(true));
    auto [y, logsumexp] =
        graph_->sdpa(packed("q", kQ), packed("k", kK), packed("v", kV), attributes);
    y->set_output(true).set_uid(kY).set_dim(whole()).set_stride(strides(extents_, 1));
    describe_logsumexp(logsumexp->set_output(true));
    return graph_;
  }

  std::shared_ptr<Graph> backward() {
    fe::graph::SDPA_backward_attributes attributes;
    // A default run, too, promises the same bits at every home and schedule.
    set(attributes.set_name("attention_backward")
            .set_deterministic_algorithm(problem_.deterministic));
    Tensor_attributes logsumexp;
    describe_logsumexp(logsumexp.set_name("logsumexp"));
    auto [dq, dk, dv] =
        graph_->sdpa_backward(packed("q", kQ), packed("k", kK), packed("v", kV), rows("y", kY),
                              rows("dy", kDy), graph_->tensor(logsumexp), attributes);
    int64_t name = kDq;
    for (const Tensor& gradient : {dq, dk, dv})
      gradient->set_output(true).set_uid(name++).set_dim(whole()).set_stride(strides(extents_, 3));
    return graph_;
  }

 private:
  std::vector<int64_t> whole() const { return dimensions(extents_, extents_.head_width); }

  Tensor tensor(const char* name, int64_t uid, int64_t parts) {
    return graph_->tensor(
        Tensor_attributes().set_name(name).set_uid(uid).set_dim(whole()).set_stride(
            strides(extents_, parts)));
  }
  Tensor packed(const char* name, int64_t uid) { return tensor(name, uid, 3); }
  Tensor rows(const char* name, int64_t uid) { return tensor(name, uid, 1); }

  Tensor number(const char* name, int64_t uid) {
    return graph_->tensor(Tensor_attributes()
                              .set_name(name)
                              .set_uid(uid)
                              .set_dim({1, 1, 1, 1})
                              .set_stride({1, 1, 1, 1})
                              .set_data_type(fe::DataType_t::INT64));
  }

  void describe_logsumexp(Tensor_attributes& tensor) const {
    tensor.set_uid(kLogsumexp)
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim(dimensions(extents_, 1))
        .set_stride({extents_.heads * extents_.length, extents_.length, 1, 1});
  }

  /// What both directions say alike.
  template <class Attributes>
  void set(Attributes& attributes) {
    attributes.set_attn_scale(1.0f / extents_.divisor())
        .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
        .set_diagonal_band_right_bound(0);
    if (problem_.dropout > 0.0f)
      attributes.set_dropout(problem_.dropout, number("seed", kSeed), number("offset", kOffset));
  }

  AttentionExtents extents_;
  AttentionProblem problem_;
  std::shared_ptr<Graph> graph_;
};

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

/// A problem's two plans, or why there are none.
struct Plans {
  std::shared_ptr<Graph> forward, backward;
  std::string refusal;
};

Plans make_both(const AttentionProblem& problem, const Machine& machine) {
  Plans plans{Builder(problem, machine).forward(), Builder(problem, machine).backward(), ""};
  const int64_t most = library_workspace_bytes(problem.extents);
  for (const auto& graph : {plans.forward, plans.backward}) {
    fe::error_t status = make_plan(*graph, machine, most);
    if (status.is_bad()) return {nullptr, nullptr, shortened(status.get_message())};
  }
  return plans;
}

/// No exception of the front end leaves this file.
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

/// The vendor's handle and the plans, of the process: a problem is decided once, whatever streams
/// ask. All calls hold the mutex; they only queue work, and one lane makes nearly all of them.
struct Shared {
  std::mutex mutex;
  Machine machine;
  cudaStream_t stream = nullptr;  ///< that the handle has now
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

/// Ends with the process, since the driver may end before what is destroyed at its exit.
Shared& shared() {
  static Shared* const one = make_shared().release();
  return *one;
}

/// The map keeps its nodes, so that only the first calls take memory for them.
void set_operands(std::unordered_map<int64_t, void*>& operands, const AttentionProblem& problem,
                  const CudnnArrays& arrays) {
  const AttentionExtents& extents = problem.extents;
  const int64_t width = extents.heads * extents.head_width * int64_t(bytes_of(problem.dtype));
  const auto part = [&](const void* first, int64_t index) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(first)) + index * width;
  };
  for (int64_t i = 0; i < 3; ++i) {
    operands[kQ + i] = part(arrays.qkv, i);
    operands[kDq + i] = arrays.dqkv ? part(arrays.dqkv, i) : nullptr;
  }
  operands[kY] = part(arrays.y, 0);
  operands[kDy] = const_cast<void*>(arrays.dy);
  operands[kLogsumexp] = const_cast<float*>(arrays.logsumexp);
  auto* const dropout = const_cast<AttentionDropout*>(arrays.dropout);
  operands[kSeed] = dropout ? &dropout->seed : nullptr;
  operands[kOffset] = dropout ? &dropout->offset : nullptr;
}

void require_aligned(const CudnnArrays& arrays) {
  for (const void* array :
       std::array<const void*, 5>{arrays.qkv, arrays.y, arrays.dy, arrays.dqkv, arrays.workspace})
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
  set_operands(state.operands, problem, arrays);
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
