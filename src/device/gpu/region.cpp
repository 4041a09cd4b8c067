// NVTX is headers alone: a profiler that is attached fills its calls in, else they cost nothing.

#include "zero/device/region.hpp"

#include <nvtx3/nvToolsExt.h>

namespace zero {

bool tool_listens() { return true; }
bool regions_are_of_threads() { return true; }

void Region::push(const std::string& name) { nvtxRangePushA(name.c_str()); }

void Region::pop() { nvtxRangePop(); }

}  // namespace zero
