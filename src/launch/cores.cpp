#include "zero/launch/cores.hpp"

#include <sched.h>

namespace zero::launch {

Cores allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  Cores cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cores.numbers.push_back(i);
  }
  return cores;
}

}  // namespace zero::launch
