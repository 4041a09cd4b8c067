#include "zero/device/gpu_runtime.hpp"
#include "zero/device/stream.hpp"

namespace zero {

struct Recording::Graph {
  gpuGraphExec_t runnable = nullptr;

  Graph() = default;
  ~Graph() { warn_gpu(gpuGraphExecDestroy(runnable), "giving a graph back"); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
};

Recording::Recording() = default;
Recording::~Recording() = default;

bool Recording::is_possible() { return true; }
bool Recording::is_made() const { return graph_ != nullptr; }

void Recording::begin(Stream& stream) {
  // Other threads go on with their own streams, and may allocate, while this one records.
  check_gpu(gpuStreamBeginCapture(native_stream(stream), gpuStreamCaptureModeThreadLocal),
            "beginning to record");
}

void Recording::end(Stream& stream) {
  gpuGraph_t recorded = nullptr;
  check_gpu(gpuStreamEndCapture(native_stream(stream), &recorded), "recording a segment");
  gpuGraphExec_t runnable = nullptr;
  const gpuError_t status = gpuGraphInstantiate(&runnable, recorded, 0);
  warn_gpu(gpuGraphDestroy(recorded), "giving a recording back");
  check_gpu(status, "making a graph");
  graph_ = std::make_unique<Graph>();
  graph_->runnable = runnable;
}

void Recording::abandon(Stream& stream) noexcept {
  gpuGraph_t recorded = nullptr;
  // The error that ends the recording is told by whoever threw it.
  static_cast<void>(gpuStreamEndCapture(native_stream(stream), &recorded));
  if (recorded != nullptr) warn_gpu(gpuGraphDestroy(recorded), "giving a recording back");
}

void Recording::queue(Stream& stream) const {
  check_gpu(gpuGraphLaunch(graph_->runnable, native_stream(stream)), "starting a graph");
}

}  // namespace zero
