#pragma once

#include <cstddef>
#include <span>

#include "zero/device/stream.hpp"

namespace zero {

/// Copies `from` to `to`, which holds as many bytes and does not overlap: between host memory and
/// the device's, in either direction. Asynchronous on `stream`; both must stay until it is done.
void copy_bytes(Stream& stream, std::span<const std::byte> from, std::byte* to);

}  // namespace zero
