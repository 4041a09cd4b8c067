#include "src/device/cuda_status.hpp"
#include "src/device/native_stream.hpp"
#include "zero/device/stream.hpp"

namespace zero {

struct Recording::Graph {
  cudaGraphExec_t runnable = nullptr;

  Graph() = default;
  ~Graph() { warn_cuda(cudaGraphExecDestroy(runnable), "giving a graph back"); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
};

Recording::Recording() = default;
Recording::~Recording() = default;

bool Recording::is_possible() { return true; }
bool Recording::is_made() const { return graph_ != nullptr; }

void Recording::begin(Stream& stream) {
  // Other threads go on with their own streams, and may allocate, while this one records.
  check_cuda(cudaStreamBeginCapture(native_stream(stream), cudaStreamCaptureModeThreadLocal),
             "beginning to record");
}

void Recording::end(Stream& stream) {
  cudaGraph_t recorded = nullptr;
  check_cuda(cudaStreamEndCapture(native_stream(stream), &recorded), "recording a segment");
  cudaGraphExec_t runnable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&runnable, recorded, 0);
  warn_cuda(cudaGraphDestroy(recorded), "giving a recording back");
  check_cuda(status, "making a graph");
  graph_ = std::make_unique<Graph>();
  graph_->runnable = runnable;
}

void Recording::abandon(Stream& stream) noexcept {
  cudaGraph_t recorded = nullptr;
  // The error that ends the recording is told by whoever threw it.
  static_cast<void>(cudaStreamEndCapture(native_stream(stream), &recorded));
  if (recorded != nullptr) warn_cuda(cudaGraphDestroy(recorded), "giving a recording back");
}

void Recording::queue(Stream& stream) const {
  check_cuda(cudaGraphLaunch(graph_->runnable, native_stream(stream)), "starting a graph");
}

}  // namespace zero
