#include "src/device/cuda_status.hpp"
#include "src/device/native_stream.hpp"
#include "zero/device/event.hpp"

namespace zero {

struct Event::Mark {
  cudaEvent_t event = nullptr;

  Mark() {
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  }
  ~Mark() { warn_cuda(cudaEventDestroy(event), "giving an event back"); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
};

Event::Event() : mark_(std::make_unique<Mark>()) {}
Event::~Event() = default;

void Event::record(Stream& stream) {
  check_cuda(cudaEventRecord(mark_->event, native_stream(stream)), "marking work");
}

void Event::hold(Stream& stream) const {
  check_cuda(cudaStreamWaitEvent(native_stream(stream), mark_->event, 0), "letting a stream wait");
}

void Event::wait() const { check_cuda(cudaEventSynchronize(mark_->event), "waiting for work"); }

}  // namespace zero
