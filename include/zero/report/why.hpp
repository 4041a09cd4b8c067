#pragma once

#include <string>

namespace zero::report {

/// Returns a paragraph on the end of the last launch in the folder `run`, or that it is running,
/// and on what to do. Asks squeue and sacct about the launch's Slurm job. Throws Error(kInput) for
/// a folder of no run.
std::string why(const std::string& run);

}  // namespace zero::report
