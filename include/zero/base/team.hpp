#pragma once

#include <functional>

namespace zero {

/// Calls work(0) to work(threads - 1) at one time, the first of them on the calling thread, and
/// returns when all have ended. Throws what the first to do so has thrown.
void in_team(int threads, const std::function<void(int member)>& work);

}  // namespace zero
