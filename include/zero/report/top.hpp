#pragma once

#include <string>

namespace zero::report {

/// Returns the state of the run in the folder `run`, in a few lines. They are its last step, bars
/// of that step's phases, ranks that lag, the last save, and its end. Reads small files and the
/// ends of long ones. `job_seconds` are those that Slurm leaves the job; -1 = unknown. Throws
/// Error(kInput) for a folder of no run.
std::string top_text(const std::string& run, double job_seconds);

/// Returns the seconds that Slurm leaves the job of a run's last launch, by squeue; -1 if unknown.
double job_seconds_left(const std::string& run);

/// True if the last launch of a run has an end on record.
bool has_ended(const std::string& run);

}  // namespace zero::report
