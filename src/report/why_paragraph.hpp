#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/report/run_files.hpp"

namespace zero::report {

/// The facts from which the end of a run's last launch is told.
struct RunEnd {
  std::string run = {};
  size_t launches = 0;
  LaunchRow last = {};                       ///< REQUIRES launches > 0
  std::optional<FailureRow> failure = {};    ///< error.json
  std::optional<LockHolder> holder = {};     ///< the process that may live
  std::vector<std::string> hang_notes = {};  ///< a line for each node that left a note
  int64_t step = 0, steps = 0;               ///< last step in metrics.jsonl; run.steps, 0 = unknown
  int64_t idle_seconds = -1;                 ///< since metrics.jsonl was written; -1 = no file
  int64_t saved = 0;                         ///< newest checkpoint; 0 = none
  bool has_summary = false;
  std::string slurm = {};  ///< the job's state by Slurm: "OUT_OF_MEMORY"; "" = unknown
};

/// Returns the facts on disk. Asks no other program.
RunEnd run_end(const std::string& run);

/// Returns the paragraph on these facts.
std::string end_text(const RunEnd& end);

/// Returns the end in a few words: "running", "killed", "finished step 6 of 6".
std::string end_words(const RunEnd& end);

}  // namespace zero::report
