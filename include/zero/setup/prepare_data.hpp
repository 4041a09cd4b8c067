#pragma once

#include <functional>
#include <optional>
#include <string>

#include "zero/config/read_config.hpp"
#include "zero/io/data/prepare.hpp"
#include "zero/launch/session.hpp"

namespace zero::setup {

/// Makes the prepared set of `maker` on all ranks, a share each. Returns what was done on the first
/// rank, and counts of nothing on others. None if a signal has asked any rank to end. If a rank
/// fails, it ends all of them at once. Collective.
std::optional<Preparation> make_set(launch::Session& session, SetMaker& maker);

/// The settings of a run, and a printer of its lines.
struct DataOrder {
  const ConfigInput& settings;
  const RunConfig& config;
  std::function<void(const std::string&)> say;
  /// Takes the run's folder, on the first rank, before a set in it is touched. Called for each set
  /// that is made.
  std::function<void()> hold;
};

/// Makes prepared sets of the order's raw files above 64 MiB in the run's folder, unless they are
/// there, and says so. Returns options by which the run reads them. Returns early if a signal has
/// asked a rank to end. Collective.
DataOptions prepare_data(launch::Session& session, const DataOrder& order);

/// Opens a run's data as it reads them: its prepared sets if all are whole, else the files.
DataSets open_as_run(const RunConfig& config);

}  // namespace zero::setup
