#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zero/device/stream.hpp"

namespace zero {

/// Copies `from` to `to` between host and device memory, in either direction. Asynchronous on
/// `stream`. REQUIRES: `to` holds from.size() bytes; the two do not overlap and live until the copy
/// is done.
void copy_bytes(Stream& stream, std::span<const std::byte> from, std::byte* to);

/// Copies `bytes` bytes past this core's caches into memory that another core reads next. A core
/// reads a line from memory many times faster than a line modified in another core's cache. The
/// writer must also take back each line that the other core has read. A thread that sees a later
/// atomic store also sees these bytes. REQUIRES: `to` is 64-byte aligned.
void stage_copy(void* to, const void* from, int64_t bytes);

}  // namespace zero
