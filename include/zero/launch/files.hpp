#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zero/io/files/files.hpp"

namespace zero::launch {

/// Opens descriptors 0, 1 and 2 if they are closed, so that no later file receives console output.
/// A write to a descriptor that is opened here fails, as it would to a closed one.
void occupy_standard_files();

/// Why `path`, by which a user means a run, a folder of checkpoints, one of them or a model, is
/// none of these, and what stands beside it.
std::string no_folder_text(const std::string& path);

/// Gives the file this content; whoever reads it finds the old or the new one. Throws Error(kIo)
/// with path and reason.
void write_file(const std::string& path, std::string_view content);

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

/// Standard output, where one rank speaks for all. A closed or full one costs one warning and no
/// training.
class Console {
 public:
  /// Says nothing unless this rank `speaks`.
  explicit Console(bool speaks) : speaks_(speaks) {}

  /// Whole lines, which are there for people to read on return. Allocates nothing.
  void say(const std::string& text);

 private:
  bool speaks_, warned_ = false;
};

}  // namespace zero::launch
