#pragma once

#include <optional>

#include "zero/io/data/prepare.hpp"
#include "zero/launch/session.hpp"

namespace zero::train {

/// Makes a prepared set on all ranks, a share each. Returns what was done on the first rank, and
/// counts of nothing on others. None if a signal has asked any rank to end. If a rank fails, it
/// ends all of them at once. Collective.
std::optional<Preparation> make_set(launch::Session& session, SetMaker& maker);

}  // namespace zero::train
