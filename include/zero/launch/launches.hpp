#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zero::launch {

/// What is known of a launch as it begins.
struct LaunchStart {
  std::string host;  ///< of rank 0
  int ranks = 1;
  int threads = 1;  ///< a rank
  std::string version;
  std::vector<std::string> command;  ///< program and arguments
  int64_t resumed_from = 0;          ///< the step of a checkpoint; 0: it began anew
};

/// Adds a line to <folder>/launches.jsonl: start (UTC), host, ranks, threads, version, command,
/// resumed_from_step where there is one, and null as end and ended. Throws Error(kIo).
void begin_launch(const std::string& folder, const LaunchStart& launch);

/// How the last launch ended, written into its line with the time, unless something is there
/// already. False where it could not be written; no launches are no failure. Any rank may call it.
bool end_launch(const std::string& folder, const std::string& how) noexcept;

/// As end_launch, for a launch that is gone and has left no word: "killed", at no known time.
void end_killed_launch(const std::string& folder) noexcept;

/// How the last launch there ended: "finished step 600", "killed"; "" where none is on record.
std::string last_end(const std::string& folder);

}  // namespace zero::launch
