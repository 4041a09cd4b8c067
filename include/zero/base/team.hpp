#pragma once

#include <functional>

namespace zero {

/// Calls work(0) to work(threads - 1) in parallel, work(0) on the calling thread. Blocks until all
/// have ended. Throws the first exception of any member.
void in_team(int threads, const std::function<void(int member)>& work);

}  // namespace zero
