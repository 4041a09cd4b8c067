#include "zero/device/stream.hpp"

#include <omp.h>

#include "src/device/chosen_device.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/device/space.hpp"

namespace zero {
namespace {

gpuStream_t make_stream() {
  gpuStream_t stream = nullptr;
  check_gpu(gpuStreamCreateWithFlags(&stream, gpuStreamNonBlocking), "making a stream");
  return stream;
}

std::unique_ptr<Stream::Handle> make_handle(int threads, Place place) {
  ZERO_REQUIRE(threads >= 1, "stream of ", threads, " threads: at least 1");
  ZERO_REQUIRE(place != Place::pinned, "a stream runs on the device or on the host");
  ZERO_REQUIRE(Kokkos::is_initialized(), "stream before Kokkos runs: initialise Kokkos first");
  use_chosen_device();
  // The space owns the stream: Kokkos still fences it when its last copy goes.
  return std::make_unique<Stream::Handle>(
      Stream::Handle{Space(make_stream(), Kokkos::Impl::ManageStream::yes), threads, place});
}

}  // namespace

Stream::Stream(int threads, Place place) : handle_(make_handle(threads, place)) {}

Stream::~Stream() = default;

int Stream::threads() const { return handle_->threads; }
bool Stream::is_of_host() const { return handle_->place == Place::host; }

/// Not by Kokkos' fence, which ends the process where a kernel has failed.
void Stream::wait() { check_gpu(gpuStreamSynchronize(native_stream(*this)), "waiting for work"); }

gpuStream_t native_stream(const Stream& stream) { return stream.handle().space.cuda_stream(); }

void adopt_threads(const Stream& stream) {
  omp_set_num_threads(stream.threads());
  use_chosen_device();
}

}  // namespace zero
