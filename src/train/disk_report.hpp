#pragma once

#include <string>

#include "zero/launch/peers.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/engine.hpp"

namespace zero::train {

/// What all ranks have moved to and from their disks.
struct DiskReport {
  state::DiskBytes planned;  ///< by the bodies that ran
  state::DiskBytes steps;    ///< the same, counted
  state::DiskBytes all;      ///< with the start, checkpoints and what else the host reads
  state::DiskBytes kernel;   ///< by the processes, of whatever they do, as the kernel counts
};

/// What the ranks together have moved. Zeros where the plan keeps nothing on disk. Collective.
DiskReport disk_report(const launch::Peers& peers, const state::Engine& engine,
                       const plan::Forecast& forecast);

/// One line about the steps for people; "" where nothing is kept on disk.
std::string disk_text(const DiskReport& report, double seconds);

}  // namespace zero::train
