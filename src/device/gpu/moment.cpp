#include "src/device/chosen_device.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/device/stream.hpp"

namespace zero {

struct Moment::Mark {
  // A thread that waits for one sleeps: a step is long, and other lanes want the core.
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
  if (status == gpuErrorNotReady) return false;
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

}  // namespace zero
