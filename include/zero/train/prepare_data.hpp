#pragma once

#include <optional>

#include "zero/config/run_config.hpp"
#include "zero/io/data/prepare.hpp"
#include "zero/launch/session.hpp"

namespace zero::train {

/// Makes a prepared set on all ranks, a share each. Returns what was done on the first rank, and
/// counts of nothing on others. None if a signal has asked any rank to end. If a rank fails, it
/// ends all of them at once. Collective.
std::optional<Preparation> make_set(launch::Session& session, SetMaker& maker);

/// Opens a run's data as it reads them: its prepared sets if all are whole, else the files.
DataSets open_as_run(const RunConfig& config);

}  // namespace zero::train
