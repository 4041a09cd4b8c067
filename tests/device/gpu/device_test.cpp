// Ranks: 1
#include "zero/device/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "src/device/memory.hpp"
#include "tests/support/fake_cuda.hpp"
#include "tests/support/refusal.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero {

/// No stream of this program is more than a place in a queue.
gpuStream_t native_stream(const Stream&) { return nullptr; }

namespace {

using ::testing::AllOf;
using testing::CudaCall;
using testing::fake_cuda;
using ::testing::HasSubstr;
using testing_support::refusal_of;

/// A node of four cards, of which this process drives the third.
class GpuDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_cuda() = {.devices = 4};
    use_device(2);
    fake_cuda().calls.clear();
  }
  void TearDown() override { fake_cuda() = {}; }

  static void fail(const char* call, cudaError_t status) {
    fake_cuda().failing = call;
    fake_cuda().status = status;
  }
};

/// As a thread that has never chosen a device.
void on_new_thread(const std::function<void()>& work) { std::thread(work).join(); }

TEST_F(GpuDevice, IsThatOfTheProcessOnEveryThread) {
  std::byte* block = nullptr;
  std::byte host[64];
  on_new_thread([&] { block = take_device_memory(64); });
  on_new_thread([&] { pin_memory(host, 64); });
  on_new_thread([&] { unpin_memory(host); });
  on_new_thread([&] { free_device_bytes(); });
  on_new_thread([&] { clear_device_memory(block, 64); });
  on_new_thread([&] { give_device_memory(block); });
  std::vector<std::string> seen;
  for (const CudaCall& call : fake_cuda().calls) {
    if (call.name == "cudaSetDevice") continue;
    EXPECT_EQ(call.device, 2) << call.name;
    seen.push_back(call.name);
  }
  EXPECT_THAT(seen,
              ::testing::IsSupersetOf({"cudaMalloc", "cudaFree", "cudaHostRegister",
                                       "cudaHostUnregister", "cudaMemGetInfo", "cudaMemsetAsync"}));
}

TEST_F(GpuDevice, ThatBreaksIsNamedAsNvidiaSmiDoes) {
  fail("cudaMalloc", cudaErrorECCUncorrectable);
  EXPECT_THAT(refusal_of(Exit::kDevice, [] { take_device_memory(64); }),
              HasSubstr("on NVIDIA H100 GPU-20212223-2425-2627-2829-2a2b2c2d2e2f, 0000:02:00.0: "));
  fail("cudaHostRegister", cudaErrorLaunchFailure);
  std::byte host[64];
  EXPECT_THAT(refusal_of(Exit::kDevice, [&] { pin_memory(host, 64); }),
              HasSubstr("pinning host memory failed in CUDA"));
}

TEST_F(GpuDevice, ThatIsTakenIsRefusedAsItIsChosen) {
  fail("cudaSetDevice", cudaErrorDevicesUnavailable);
  EXPECT_THAT(refusal_of(Exit::kDevice, [] { use_device(1); }),
              AllOf(HasSubstr("GPU-10111213-"), HasSubstr("Exclusive_Process")));
}

TEST_F(GpuDevice, OfANodeWithoutItsFabricIsAFaultOfTheNode) {
  fail("cudaGetDeviceCount", cudaErrorSystemNotReady);
  EXPECT_TRUE(usable_devices().empty());
  EXPECT_EQ(exit_of_device_trouble(), Exit::kDevice);
  EXPECT_THAT(device_trouble(), HasSubstr("nvidia-fabricmanager"));
  const NodeDevices node{
      .host = "n1", .of_rank = {{}}, .trouble = device_trouble(), .exit = exit_of_device_trouble()};
  EXPECT_THAT(refusal_of(Exit::kDevice, [&] { choose_device(node, 0); }),
              AllOf(HasSubstr("on n1: "), HasSubstr("nvidia-fabricmanager")));
  fail("cudaGetDeviceCount", cudaErrorNoDevice);
  EXPECT_EQ(exit_of_device_trouble(), Exit::kUsage) << "a host without a card";
  fake_cuda() = {.devices = 0};
  EXPECT_EQ(exit_of_device_trouble(), Exit::kUsage);
}

}  // namespace
}  // namespace zero
