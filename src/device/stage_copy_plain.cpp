#include <cstring>

#include "zero/device/copy.hpp"

namespace zero {

void stage_copy(void* to, const void* from, int64_t bytes) { std::memcpy(to, from, size_t(bytes)); }

}  // namespace zero
