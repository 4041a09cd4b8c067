#include "src/device/chosen_device.hpp"
#include "src/device/cuda_event.hpp"
#include "src/device/cuda_status.hpp"
#include "src/device/native_stream.hpp"
#include "zero/device/stream.hpp"

namespace zero {

struct Event::Mark {
  CudaEvent event{cudaEventDisableTiming};
};

Event::Event() {
  use_chosen_device();
  mark_ = std::make_unique<Mark>();
}
Event::~Event() = default;

void Event::record(Stream& stream) {
  check_cuda(cudaEventRecord(mark_->event.get(), native_stream(stream)), "marking work");
}

void Event::hold(Stream& stream) const {
  check_cuda(cudaStreamWaitEvent(native_stream(stream), mark_->event.get(), 0),
             "letting a stream wait");
}

void Event::wait() const {
  check_cuda(cudaEventSynchronize(mark_->event.get()), "waiting for work");
}

}  // namespace zero
