#pragma once

#include <cstdint>

#include "zero/comm/communicator.hpp"

namespace zero::comm {

/// The verbs that a lane runs.
struct Verbs {
  bool gathers = false, reduces = false, sums = false;
};

/// Runs each of these verbs over 64 elements of a rank, and a gather also over an array of at most
/// `most_bytes`, since a library may gather much in another way than little. Returns when all are
/// done. A library that takes memory at the first call of a verb has it then. traffic() counts what
/// is sent. Collective. Throws Error(kDoesNotFit) where memory runs out.
void warm_up(Communicator& comm, const Verbs& verbs, int64_t most_bytes);

}  // namespace zero::comm
