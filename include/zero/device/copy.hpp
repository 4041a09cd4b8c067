#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zero/device/stream.hpp"

namespace zero {

/// Copies `from` to `to`, which holds as many bytes and does not overlap: between host memory and
/// the device's, in either direction. Asynchronous on `stream`; both must stay until it is done.
void copy_bytes(Stream& stream, std::span<const std::byte> from, std::byte* to);

/// Copies into memory that another core reads next, past this core's caches. A line that lies
/// modified in one core's cache comes to the other many times slower than one from memory. A line
/// that the other has read must first be taken from it again. `to` is 64-byte aligned. A thread
/// that sees a later atomic store also sees these bytes.
void stage_copy(void* to, const void* from, int64_t bytes);

}  // namespace zero
