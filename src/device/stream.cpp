#include "zero/device/stream.hpp"

#include "zero/device/space.hpp"

namespace zero {

Stream::~Stream() = default;

int Stream::threads() const { return handle_->threads; }
bool Stream::is_of_host() const { return handle_->place == Place::host; }

}  // namespace zero
