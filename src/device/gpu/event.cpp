#include "src/device/chosen_device.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/device/stream.hpp"

namespace zero {

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

}  // namespace zero
