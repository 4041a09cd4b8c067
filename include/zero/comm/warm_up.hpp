#pragma once

#include <cstdint>

#include "zero/comm/communicator.hpp"

namespace zero::comm {

/// The verbs that a lane runs.
struct Verbs {
  bool gathers = false, reduces = false, sums = false;
};

/// Runs each of `verbs` of `comm` over 64 elements of a rank, so a library takes the memory of its
/// first call now. Also gathers an array of at most `most_bytes`, because a library may gather
/// large arrays in another way. Blocks until all are done. traffic() counts the bytes. Collective.
/// Throws Error(kDoesNotFit) if memory runs out.
void warm_up(Communicator& comm, const Verbs& verbs, int64_t most_bytes);

}  // namespace zero::comm
