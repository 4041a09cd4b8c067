#include "zero/device/device.hpp"

#include <nvtx3/nvToolsExt.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>

#include "src/device/memory.hpp"
#include "zero/base/process_limits.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/device/region.hpp"

namespace zero {
namespace {

/// The lowest major architecture that the build has code for: 9 is Hopper.
constexpr int kLeastMajor = 9;

// The device of this process. Written once, before lanes start.
std::atomic<int> chosen{-1};

/// Returns the UUID's digits. Parts of one GPU share their place on the bus, but not the UUID.
std::string name_of(const gpuUUID_t& uuid) {
  std::string name;
  for (const char byte : uuid.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", unsigned(uint8_t(byte)));
    name += digits;
  }
  return name;
}

/// Groups digits by 8, 4, 4, 4 and 12, as nvidia-smi does.
std::string dashed(std::string digits) {
  for (const size_t place : {20, 16, 12, 8}) digits.insert(place, "-");
  return digits;
}

/// Returns "NVIDIA H200 GPU-1b2c..., 0000:3b:00.0". A part of a GPU has MIG instead of GPU.
std::string card_of(const DeviceInfo& device) {
  const size_t space = device.id.find(' ');
  const char* const kind = device.name.find("MIG") != device.name.npos ? " MIG-" : " GPU-";
  return text(device.name, kind, dashed(device.id.substr(space + 1)), ", ",
              device.id.substr(0, space));
}

DeviceInfo describe(int index) {
  gpuDeviceProp properties{};
  check_gpu(gpuGetDeviceProperties(&properties, index), "asking what a device is");
  char id[32] = "";
  check_gpu(gpuDeviceGetPCIBusId(id, int(sizeof id), index), "asking where a device is");
  return {.name = properties.name,
          .id = text(id, " ", name_of(properties.uuid)),
          .bytes = int64_t(properties.totalGlobalMem),
          .processors = properties.multiProcessorCount,
          .major = properties.major,
          .minor = properties.minor};
}

/// Returns CUDA's numbers of the devices whose architecture the build has code for.
std::vector<int> usable_numbers() {
  int count = 0;
  if (gpuGetDeviceCount(&count) != gpuSuccess) {
    static_cast<void>(gpuGetLastError());
    return {};
  }
  std::vector<int> numbers;
  for (int number = 0; number < count; ++number) {
    int major = 0;
    check_gpu(gpuDeviceGetAttribute(&major, gpuDevAttrComputeCapabilityMajor, number),
              "asking for a device's architecture");
    if (major >= kLeastMajor) numbers.push_back(number);
  }
  return numbers;
}

struct Memory {
  size_t free = 0, total = 0;
};

Memory memory_in_use() {
  use_chosen_device();
  Memory memory;
  check_gpu(gpuMemGetInfo(&memory.free, &memory.total), "asking for the device's free memory");
  return memory;
}

}  // namespace

void warn_gpu(gpuError_t status, std::string_view what) noexcept {
  // The driver may end before the last object does. Then there is nothing to give back.
  if (status == gpuSuccess || status == gpuErrorUnloading) return;
  std::fprintf(stderr, "zeroapp: warning: %.*s failed in CUDA: %s\n", int(what.size()), what.data(),
               gpuGetErrorString(status));
}

bool drives_devices() { return true; }
const char* device_kind() { return "cuda"; }

std::vector<DeviceInfo> usable_devices() {
  std::vector<DeviceInfo> devices;
  for (const int number : usable_numbers()) devices.push_back(describe(number));
  return devices;
}

std::string device_trouble() {
  // Without a driver, CUDA says only that the driver's version is too low.
  int driver = 0;
  if (gpuDriverGetVersion(&driver) == gpuSuccess && driver == 0)
    return "no NVIDIA driver is installed";
  int count = 0;
  const gpuError_t status = gpuGetDeviceCount(&count);
  if (status != gpuSuccess) {
    static_cast<void>(gpuGetLastError());
    return words_of(status) + address_space_hint(process_limit(RLIMIT_AS));
  }
  if (count == 0) return "the driver shows no device";
  return text("none of ", count, " devices is of architecture ", kLeastMajor, ".0 or later");
}

Exit exit_of_device_trouble() {
  int count = 0;
  const gpuError_t status = gpuGetDeviceCount(&count);
  static_cast<void>(gpuGetLastError());
  return exit_of(status) == Exit::kDevice ? Exit::kDevice : Exit::kUsage;
}

void use_device(int index) {
  const std::vector<int> numbers = usable_numbers();
  ZERO_REQUIRE(index >= 0 && index < int(numbers.size()), "device ", index, " of ", numbers.size());
  chosen = numbers[size_t(index)];
  name_card(card_of(describe(chosen)));
  use_chosen_device();
}

int device_in_use() { return chosen; }

void use_chosen_device() {
  if (chosen < 0) return;
  const gpuError_t status = gpuSetDevice(chosen);
  if (status == gpuErrorMemoryAllocation) {
    refuse(Exit::kDoesNotFit,
           "CUDA does not start on the chosen device: ", gpuGetErrorString(status),
           address_space_hint(process_limit(RLIMIT_AS)));
  }
  check_gpu(status, "choosing a device");
}

/// A thread that never chose would free on the first device, and create a context of half a GiB
/// there.
void prefer_chosen_device() noexcept {
  if (chosen >= 0) warn_gpu(gpuSetDevice(chosen), "choosing a device");
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

bool has_device_memory() { return true; }

void refuse_device_memory(int64_t bytes, const std::string& more) {
  static_cast<void>(gpuGetLastError());  // the next caller must not meet the error
  const Memory memory = memory_in_use();
  refuse(Exit::kDoesNotFit, "an arena of ", bytes, " bytes does not fit: ", memory.free, " of ",
         memory.total, " bytes of the device are free", more);
}

std::byte* take_device_memory(int64_t bytes) {
  use_chosen_device();
  void* block = nullptr;
  const gpuError_t status = gpuMalloc(&block, size_t(bytes));
  if (status == gpuErrorMemoryAllocation) refuse_device_memory(bytes, "");
  check_gpu(status, "taking device memory");
  clear_device_memory(static_cast<std::byte*>(block), bytes);
  return static_cast<std::byte*>(block);
}

/// Uses its own stream, because waiting for the whole device would spoil another thread's
/// recording.
void clear_device_memory(std::byte* block, int64_t bytes) {
  use_chosen_device();
  gpuStream_t stream = nullptr;
  check_gpu(gpuStreamCreateWithFlags(&stream, gpuStreamNonBlocking), "clearing device memory");
  const gpuError_t queued = gpuMemsetAsync(block, 0, size_t(bytes), stream);
  const gpuError_t done = gpuStreamSynchronize(stream);
  warn_gpu(gpuStreamDestroy(stream), "ending a stream");
  check_gpu(queued, "clearing device memory");
  check_gpu(done, "clearing device memory");
}

void give_device_memory(std::byte* block) noexcept {
  prefer_chosen_device();
  warn_gpu(gpuFree(block), "giving device memory back");
}

void pin_memory(std::byte* block, int64_t bytes) {
  use_chosen_device();
  const gpuError_t status =
      gpuHostRegister(block, size_t(bytes), gpuHostRegisterPortable | gpuHostRegisterMapped);
  if (status == gpuSuccess) return;
  if (exit_of(status) == Exit::kDevice) refuse_gpu(status, "pinning host memory");
  static_cast<void>(gpuGetLastError());
  refuse(Exit::kDoesNotFit, bytes,
         " bytes of host memory cannot be pinned for the device: ", gpuGetErrorString(status),
         " - keep less in host memory, or allow more (ulimit -l)");
}

void unpin_memory(std::byte* block) noexcept {
  prefer_chosen_device();
  warn_gpu(gpuHostUnregister(block), "giving pinned memory back");
}

/// Chooses the device first, because the calling thread may not have adopted a stream and would
/// then drive the first device.
void copy_bytes(Stream& stream, std::span<const std::byte> from, std::byte* to) {
  if (from.empty()) return;
  use_chosen_device();
  check_gpu(gpuMemcpyAsync(to, from.data(), from.size(), gpuMemcpyDefault, native_stream(stream)),
            "starting a copy");
}

// NVTX is headers alone. An attached profiler fills its calls in; else they cost nothing.

bool tool_listens() { return true; }
bool regions_are_of_threads() { return true; }

void Region::push(const std::string& name) { nvtxRangePushA(name.c_str()); }

void Region::pop() { nvtxRangePop(); }

}  // namespace zero
