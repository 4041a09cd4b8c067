#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"

namespace zero {
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
