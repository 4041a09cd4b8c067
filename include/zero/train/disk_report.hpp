#pragma once

#include <string>

#include "zero/plan/forecast.hpp"
#include "zero/train/engine.hpp"
#include "zero/train/peers.hpp"

namespace zero::train {

/// What all ranks have moved to and from their disks.
struct DiskReport {
  DiskBytes planned;  ///< by the bodies that ran
  DiskBytes steps;    ///< the same, counted
  DiskBytes all;      ///< with the start, checkpoints and what else the host reads
  DiskBytes kernel;   ///< by the processes, of whatever they do, as the kernel counts
};

/// Of the ranks together. Zeros where the plan keeps nothing on disk. Collective.
DiskReport disk_report(const Peers& peers, const Engine& engine, const plan::Forecast& forecast);

/// One line about the steps for people; "" where nothing is kept on disk.
std::string disk_text(const DiskReport& report, double seconds);

}  // namespace zero::train
