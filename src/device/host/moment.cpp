#include <chrono>

#include "zero/device/stream.hpp"

namespace zero {

// The host's kernels are done when their calls return, so a mark is the time of its call.
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

}  // namespace zero
