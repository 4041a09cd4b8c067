#include <sys/resource.h>

#include <atomic>
#include <cstdio>

#include "src/device/chosen_device.hpp"
#include "src/device/cuda_status.hpp"
#include "zero/base/process.hpp"
#include "zero/device/device.hpp"

namespace zero {
namespace {

/// The least architecture that the build has code for: 90 is Hopper.
constexpr int kLeastMajor = 9;

// One device a process; written once, before lanes start.
std::atomic<int> chosen{-1};

/// Parts of one GPU share its place on the bus, but not this.
std::string name_of(const cudaUUID_t& uuid) {
  std::string name;
  for (const char byte : uuid.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", unsigned(uint8_t(byte)));
    name += digits;
  }
  return name;
}

DeviceInfo describe(int index) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index), "asking what a device is");
  char id[32] = "";
  check_cuda(cudaDeviceGetPCIBusId(id, int(sizeof id), index), "asking where a device is");
  return {.name = properties.name,
          .id = text(id, " ", name_of(properties.uuid)),
          .bytes = int64_t(properties.totalGlobalMem),
          .processors = properties.multiProcessorCount,
          .major = properties.major,
          .minor = properties.minor};
}

/// CUDA's numbers of the devices with an architecture that we have code for.
std::vector<int> usable_numbers() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  std::vector<int> numbers;
  for (int number = 0; number < count; ++number) {
    int major = 0;
    check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number),
               "asking for a device's architecture");
    if (major >= kLeastMajor) numbers.push_back(number);
  }
  return numbers;
}

struct Memory {
  size_t free = 0, total = 0;
};

Memory memory_in_use() {
  Memory memory;
  check_cuda(cudaMemGetInfo(&memory.free, &memory.total), "asking for the device's free memory");
  return memory;
}

}  // namespace

void warn_cuda(cudaError_t status, std::string_view what) noexcept {
  // The driver may go before the last object does; then there is nothing to give back to.
  if (status == cudaSuccess || status == cudaErrorCudartUnloading) return;
  std::fprintf(stderr, "zeroapp: warning: %.*s failed in CUDA: %s\n", int(what.size()), what.data(),
               cudaGetErrorString(status));
}

bool drives_devices() { return true; }
const char* device_kind() { return "cuda"; }

std::vector<DeviceInfo> usable_devices() {
  std::vector<DeviceInfo> devices;
  for (const int number : usable_numbers()) devices.push_back(describe(number));
  return devices;
}

std::string device_trouble() {
  // Without a driver CUDA only says that its version is too low.
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    return "no NVIDIA driver is installed";
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return cudaGetErrorString(status) + address_space_hint(process_limit(RLIMIT_AS));
  }
  if (count == 0) return "the driver shows no device";
  return text("none of ", count, " devices is of architecture ", kLeastMajor, ".0 or later");
}

void use_device(int index) {
  const std::vector<int> numbers = usable_numbers();
  ZERO_REQUIRE(index >= 0 && index < int(numbers.size()), "device ", index, " of ", numbers.size());
  chosen = numbers[size_t(index)];
  use_chosen_device();
}

int device_in_use() { return chosen; }

void use_chosen_device() {
  if (chosen < 0) return;
  const cudaError_t status = cudaSetDevice(chosen);
  if (status == cudaErrorMemoryAllocation) {
    refuse(Exit::kDoesNotFit,
           "CUDA does not start on the chosen device: ", cudaGetErrorString(status),
           address_space_hint(process_limit(RLIMIT_AS)));
  }
  check_cuda(status, "choosing a device");
}

std::string device_text() {
  constexpr double kGiB = 1 << 30;
  const Memory memory = memory_in_use();
  char words[64];
  std::snprintf(words, sizeof words, ", %.2f GiB used, %.2f GiB free",
                double(memory.total - memory.free) / kGiB, double(memory.free) / kGiB);
  return describe(chosen).name + words;
}

int64_t free_device_bytes() { return int64_t(memory_in_use().free); }

int64_t used_device_bytes() {
  const Memory memory = memory_in_use();
  return int64_t(memory.total - memory.free);
}

}  // namespace zero
