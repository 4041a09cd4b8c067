#pragma once

#include <cstdint>

namespace zero {

/// What the system lets this process have of a resource (RLIMIT_AS, RLIMIT_DATA, ...), in its unit;
/// -1: no limit.
int64_t process_limit(int resource);

}  // namespace zero
