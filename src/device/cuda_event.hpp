#pragma once

#include "src/device/cuda_status.hpp"

namespace zero {

/// An event of the device that the thread uses; throws Error(kInternal) where there is none.
class CudaEvent {
 public:
  explicit CudaEvent(unsigned flags) {
    check_cuda(cudaEventCreateWithFlags(&event_, flags), "making an event");
  }
  ~CudaEvent() { warn_cuda(cudaEventDestroy(event_), "giving an event back"); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace zero
