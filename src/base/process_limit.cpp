#include <sys/resource.h>

#include <algorithm>

#include "zero/base/process.hpp"

namespace zero {

int64_t process_limit(int resource) {
  rlimit limit{};
  const bool known = getrlimit(__rlimit_resource_t(resource), &limit) == 0;
  if (!known || limit.rlim_cur == RLIM_INFINITY) return -1;
  return int64_t(std::min<rlim_t>(limit.rlim_cur, rlim_t(INT64_MAX)));
}

}  // namespace zero
