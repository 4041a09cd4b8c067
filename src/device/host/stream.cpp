#include "zero/device/stream.hpp"

#include <omp.h>

#include <chrono>
#include <string>

#include "zero/base/error.hpp"
#include "zero/device/space.hpp"

namespace zero {
namespace {

// Kokkos takes a std::string. Making it in each call would allocate inside a step.
const std::string kWaitLabel = "zero::Stream::wait";

std::unique_ptr<Stream::Handle> make_handle(int threads, Place place, Priority priority) {
  require_stream(threads, place);
  return std::make_unique<Stream::Handle>(Stream::Handle{Space(threads), threads, place, priority});
}

}  // namespace

Stream::Stream(int threads, Place place, Priority priority)
    : handle_(make_handle(threads, place, priority)) {}

void Stream::wait() { handle_->space.fence(kWaitLabel); }

void adopt_threads(const Stream& stream) { omp_set_num_threads(stream.threads()); }

struct Event::Mark {};

Event::Event() = default;
Event::~Event() = default;

// The host's kernels are done when their calls return, or after this wait.
void Event::record(Stream& stream) { stream.wait(); }
void Event::hold(Stream&) const {}
void Event::wait() const {}

// The time of the call of mark(), because the host's kernels are done when their calls return.
struct Moment::Mark {
  std::chrono::steady_clock::time_point at;
};

Moment::Moment() : mark_(std::make_unique<Mark>()) {}
Moment::~Moment() = default;

void Moment::mark(Stream&) { mark_->at = std::chrono::steady_clock::now(); }
bool Moment::reached() const { return true; }
void Moment::wait() const {}

double Moment::seconds_since(const Moment& earlier) const {
  return std::chrono::duration<double>(mark_->at - earlier.mark_->at).count();
}

namespace {

[[noreturn]] void no_recording() {
  refuse(Exit::kInternal, "a stream of the host runs its work at once and cannot be recorded");
}

}  // namespace

struct Recording::Graph {};

Recording::Recording() = default;
Recording::~Recording() = default;

bool Recording::is_possible() { return false; }
bool Recording::is_made() const { return false; }
void Recording::begin(Stream&) { no_recording(); }
void Recording::end(Stream&) { no_recording(); }
void Recording::abandon(Stream&) noexcept {}
void Recording::queue(Stream&) const { no_recording(); }

}  // namespace zero
