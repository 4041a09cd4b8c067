#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace zero::report {

/// The times of one kind of op in a launch.
struct RegionTime {
  double seconds = 0;  ///< mean of the ranks
  int64_t calls = 0;
};

/// The times of the steps of a run's last launch, by its files.
struct Measured {
  std::string host;                         ///< of the first rank
  std::string device;                       ///< name of its GPU; "" on a host
  int64_t ranks = 1, threads = 1;           ///< threads of each rank
  int64_t node_ranks = 1;                   ///< most ranks on one node
  bool is_live = false;                     ///< true: a process holds the folder
  int64_t steps = 0;                        ///< steps of the middle values below
  double step_seconds = 0;                  ///< middle wall time of a step
  double exposed_seconds = 0;               ///< middle time that compute waited for other lanes
  double units = 0;                         ///< middle number counted in a step
  std::string unit = {};                    ///< what is counted, in the plural
  std::map<std::string, double> phases;     ///< middle busy seconds, by phase: "forward"
  std::map<std::string, RegionTime> kinds;  ///< by kind of op; empty before the launch's end
  std::map<std::string, double> lanes;      ///< busy seconds a step, by lane; empty likewise
};

/// Reads the last launch's steps without its first two, at most the last two thousand. Throws
/// Error(kInput) for a folder of no run, for a launch of too few steps, and with the name of a file
/// that is missing or damaged.
Measured measured_of(const std::string& run);

}  // namespace zero::report
