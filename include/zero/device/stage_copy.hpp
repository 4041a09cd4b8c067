#pragma once

#include <cstdint>

namespace zero {

/// Copies into memory that another core reads next, past this core's caches: a line that lies
/// modified in one core's cache comes to the other many times slower than one from memory, and a
/// line that the other has read must first be taken from it again. `to` is 64-byte aligned. What is
/// written before an atomic store that follows is seen by who sees that store.
void stage_copy(void* to, const void* from, int64_t bytes);

}  // namespace zero
