#include "src/device/chosen_device.hpp"
#include "src/device/cuda_event.hpp"
#include "src/device/cuda_status.hpp"
#include "src/device/native_stream.hpp"
#include "zero/device/stream.hpp"

namespace zero {

struct Moment::Mark {
  // A thread that waits for one sleeps: a step is long, and other lanes want the core.
  CudaEvent event{cudaEventBlockingSync};
};

Moment::Moment() {
  use_chosen_device();
  mark_ = std::make_unique<Mark>();
}
Moment::~Moment() = default;

void Moment::mark(Stream& stream) {
  check_cuda(cudaEventRecord(mark_->event.get(), native_stream(stream)), "marking a time");
}

bool Moment::reached() const {
  const cudaError_t status = cudaEventQuery(mark_->event.get());
  if (status == cudaErrorNotReady) return false;
  check_cuda(status, "asking for work");
  return true;
}

void Moment::wait() const {
  check_cuda(cudaEventSynchronize(mark_->event.get()), "waiting for work");
}

double Moment::seconds_since(const Moment& earlier) const {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, earlier.mark_->event.get(), mark_->event.get()),
             "reading a time");
  return double(milliseconds) * 1e-3;
}

}  // namespace zero
