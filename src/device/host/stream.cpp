#include "zero/device/stream.hpp"

#include <omp.h>

#include <string>

#include "zero/base/error.hpp"
#include "zero/device/space.hpp"

namespace zero {
namespace {

// Kokkos takes the name as a std::string; one made per call would allocate inside a step.
const std::string kWaitLabel = "zero::Stream::wait";

std::unique_ptr<Stream::Handle> make_handle(int threads, Place place) {
  ZERO_REQUIRE(threads >= 1, "stream of ", threads, " threads: at least 1");
  ZERO_REQUIRE(place != Place::pinned, "a stream runs on the device or on the host");
  ZERO_REQUIRE(Kokkos::is_initialized(), "stream before Kokkos runs: initialise Kokkos first");
  return std::make_unique<Stream::Handle>(Stream::Handle{Space(threads), threads, place});
}

}  // namespace

Stream::Stream(int threads, Place place) : handle_(make_handle(threads, place)) {}

Stream::~Stream() = default;

int Stream::threads() const { return handle_->threads; }
bool Stream::is_of_host() const { return handle_->place == Place::host; }

void Stream::wait() { handle_->space.fence(kWaitLabel); }

void adopt_threads(const Stream& stream) { omp_set_num_threads(stream.threads()); }

}  // namespace zero
