#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zero::launch {

/// Opens descriptors 0, 1 and 2 if they are closed, so no later file receives console output.
/// Writes to a descriptor that is opened here fail, as to a closed one.
void occupy_standard_files();

/// Returns the error text for a path that is not a run, a folder of checkpoints, a checkpoint or a
/// model. Lists the folders beside it.
std::string no_folder_text(const std::string& path);

/// Replaces the content of a file. A reader finds the old or the new content. Throws Error(kIo)
/// with path and reason.
void write_file(const std::string& path, std::string_view content);

/// The facts of a launch as it begins.
struct LaunchStart {
  std::string host;  ///< host of rank 0
  int ranks = 1;
  int threads = 1;  ///< threads of each rank
  std::string version;
  std::vector<std::string> command;  ///< program and arguments
  int64_t resumed_from = 0;          ///< the step of a checkpoint; 0: a new run
};

/// Adds a line to <folder>/launches.jsonl: start (UTC), host, ranks, threads, version, command,
/// resumed_from_step if any, and null as end and ended. Throws Error(kIo).
void begin_launch(const std::string& folder, const LaunchStart& launch);

/// Writes `how` and the time into the line of the last launch, unless it has an end already. False
/// if it cannot be written. True if there are no launches. Callable on any rank.
bool end_launch(const std::string& folder, const std::string& how) noexcept;

/// Writes "killed" and no time into the line of the last launch, unless it has an end already. For
/// a launch that is gone without a word.
void end_killed_launch(const std::string& folder) noexcept;

/// Returns the end of the last launch in `folder`: "finished step 600", "killed". "" if none is on
/// record.
std::string last_end(const std::string& folder);

/// The standard output, on which one rank speaks for all. If it is closed or full, that costs one
/// warning and training goes on.
class Console {
 public:
  /// Makes a silent console unless this rank `speaks`.
  explicit Console(bool speaks) : speaks_(speaks) {}

  /// Prints whole lines, which people can read when it returns. Allocates nothing.
  void say(const std::string& text);

 private:
  bool speaks_, warned_ = false;
};

}  // namespace zero::launch
