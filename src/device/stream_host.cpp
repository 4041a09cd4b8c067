#include <omp.h>

#include <string>

#include "src/device/space.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"

namespace zero {
namespace {

// Kokkos takes the name as a std::string; one made per call would allocate inside a step.
const std::string kWaitLabel = "zero::Stream::wait";

std::unique_ptr<Stream::Handle> make_handle(int threads) {
  ZERO_REQUIRE(threads >= 1, "stream of ", threads, " threads: at least 1");
  ZERO_REQUIRE(Kokkos::is_initialized(), "stream before Kokkos runs: initialise Kokkos first");
  return std::make_unique<Stream::Handle>(Stream::Handle{Space(threads), threads});
}

}  // namespace

Stream::Stream(int threads) : handle_(make_handle(threads)) {}

Stream::~Stream() = default;

int Stream::threads() const { return handle_->threads; }

void Stream::wait() { handle_->space.fence(kWaitLabel); }

void adopt_threads(const Stream& stream) { omp_set_num_threads(stream.threads()); }

}  // namespace zero
