#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zero::launch {

/// The facts of a launch as it begins.
struct LaunchStart {
  std::string host;  ///< host of rank 0
  int ranks = 1;
  int threads = 1;  ///< threads of each rank
  std::string version;
  std::vector<std::string> command;  ///< program and arguments
  int64_t resumed_from = 0;          ///< the step of a checkpoint; 0: a new run
  std::string job = {};              ///< number of the Slurm job; "" = none
};

/// Adds a line for `launch` to <folder>/launches.jsonl: start (UTC), host, ranks, threads, version,
/// command, resumed_from_step and job if any, and null as end and ended. Throws Error(kIo).
void begin_launch(const std::string& folder, const LaunchStart& launch);

/// Writes the end of a launch, `how`, and the time into the last line of <folder>/launches.jsonl,
/// unless it has an end already. False if it cannot be written. True if there are no launches.
/// Callable on any rank.
bool end_launch(const std::string& folder, const std::string& how) noexcept;

/// Writes "killed" and no time into the last line of <folder>/launches.jsonl, unless it has an end
/// already. For a launch that is gone without a word.
void end_killed_launch(const std::string& folder) noexcept;

/// Returns the end of the last launch on record in `folder`: "finished step 600", "killed". "" if
/// none is on record.
std::string last_end(const std::string& folder);

}  // namespace zero::launch
