#include "zero/device/stream.hpp"

#include <omp.h>

#include "zero/device/gpu_runtime.hpp"
#include "zero/device/space.hpp"

namespace zero {
namespace {

gpuStream_t make_stream(Priority priority) {
  int normal = 0, high = 0;
  check_gpu(gpuDeviceGetStreamPriorityRange(&normal, &high), "asking for priorities");
  gpuStream_t stream = nullptr;
  check_gpu(gpuStreamCreateWithPriority(&stream, gpuStreamNonBlocking,
                                        priority == Priority::high ? high : normal),
            "making a stream");
  return stream;
}

std::unique_ptr<Stream::Handle> make_handle(int threads, Place place, Priority priority) {
  require_stream(threads, place);
  use_chosen_device();
  // The space owns the stream, because Kokkos fences it when the last copy of the space goes.
  return std::make_unique<Stream::Handle>(Stream::Handle{
      Space(make_stream(priority), Kokkos::Impl::ManageStream::yes), threads, place, priority});
}

}  // namespace

Stream::Stream(int threads, Place place, Priority priority)
    : handle_(make_handle(threads, place, priority)) {}

/// Avoids Kokkos' fence, which ends the process if a kernel has failed.
void Stream::wait() { check_gpu(gpuStreamSynchronize(native_stream(*this)), "waiting for work"); }

LaunchCheck::LaunchCheck() : earlier_(int(gpuGetLastError())) {}

void LaunchCheck::require_taken(const std::string& kernel) const {
  const gpuError_t status = gpuGetLastError();
  if (status == gpuSuccess) return;
  check_gpu(status, (int(status) == earlier_ ? "work before " : "starting ") + kernel);
}

gpuStream_t native_stream(const Stream& stream) { return stream.handle().space.cuda_stream(); }

void adopt_threads(const Stream& stream) {
  omp_set_num_threads(stream.threads());
  use_chosen_device();
}

struct Event::Mark {
  GpuEvent event{gpuEventDisableTiming};
};

Event::Event() {
  use_chosen_device();
  mark_ = std::make_unique<Mark>();
}
Event::~Event() = default;

void Event::record(Stream& stream) {
  check_gpu(gpuEventRecord(mark_->event.get(), native_stream(stream)), "marking work");
}

void Event::hold(Stream& stream) const {
  check_gpu(gpuStreamWaitEvent(native_stream(stream), mark_->event.get(), 0),
            "letting a stream wait");
}

void Event::wait() const { check_gpu(gpuEventSynchronize(mark_->event.get()), "waiting for work"); }

struct Moment::Mark {
  // A waiting thread sleeps, because a step is long and other lanes want the core.
  GpuEvent event{gpuEventBlockingSync};
};

Moment::Moment() {
  use_chosen_device();
  mark_ = std::make_unique<Mark>();
}
Moment::~Moment() = default;

void Moment::mark(Stream& stream) {
  check_gpu(gpuEventRecord(mark_->event.get(), native_stream(stream)), "marking a time");
}

bool Moment::reached() const {
  const gpuError_t status = gpuEventQuery(mark_->event.get());
  if (status == gpuErrorNotReady) {
    static_cast<void>(gpuGetLastError());  // some runtimes keep this status as an error
    return false;
  }
  check_gpu(status, "asking for work");
  return true;
}

void Moment::wait() const {
  check_gpu(gpuEventSynchronize(mark_->event.get()), "waiting for work");
}

double Moment::seconds_since(const Moment& earlier) const {
  float milliseconds = 0;
  check_gpu(gpuEventElapsedTime(&milliseconds, earlier.mark_->event.get(), mark_->event.get()),
            "reading a time");
  return double(milliseconds) * 1e-3;
}

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
  // Other threads may use their own streams and allocate while this thread records.
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
  // The caller reports the error that ended the recording.
  static_cast<void>(gpuStreamEndCapture(native_stream(stream), &recorded));
  if (recorded != nullptr) warn_gpu(gpuGraphDestroy(recorded), "giving a recording back");
}

void Recording::queue(Stream& stream) const {
  check_gpu(gpuGraphLaunch(graph_->runnable, native_stream(stream)), "starting a graph");
}

}  // namespace zero
