#pragma once
/// Arrays where training has them, in memory of the device: for tests of kernels that a library
/// brings, which may refuse host memory or crawl through it. Each is a block of its own, so that
/// compute-sanitizer tells what is read or written behind its end; that does not hold for vectors,
/// which on a GPU lie in one stretch (device_memory.hpp).

#include <cstdlib>
#include <vector>

#include "tests/support/device_memory.hpp"
#include "tests/support/matrix_reference.hpp"

namespace zero::testing {

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values)
      : numel_(values.size()), place_(take_device_memory(bytes())) {
    copy_device_memory(place_, values.data(), bytes());
  }
  ~DeviceArray() { give_device_memory(place_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  /// What a kernel must write over, not read: poisoned, or with ZERO_TEST_UNWRITTEN in the
  /// environment as the device gave it, so that compute-sanitizer's initcheck tells who reads it.
  static DeviceArray of_outputs(int64_t numel) {
    if (is_unwritten()) return DeviceArray(size_t(numel));
    return DeviceArray(poisoned<T>(numel));
  }
  static bool is_unwritten() { return std::getenv("ZERO_TEST_UNWRITTEN") != nullptr; }

  /// As many as there are.
  void set(const std::vector<T>& values) const {
    copy_device_memory(place_, values.data(), bytes());
  }

  T* data() const { return static_cast<T*>(place_); }
  /// What is there, once all work on it has ended.
  std::vector<T> values() const {
    std::vector<T> out(numel_);
    copy_device_memory(out.data(), place_, bytes());
    return out;
  }

 private:
  explicit DeviceArray(size_t numel) : numel_(numel), place_(take_device_memory(bytes())) {}
  size_t bytes() const { return numel_ * sizeof(T); }

  size_t numel_;
  void* place_;
};

}  // namespace zero::testing
