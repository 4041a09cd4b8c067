#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zero/launch/time_limit.hpp"

namespace zero::launch {

/// When Slurm ends the job that this process belongs to.
struct JobEnd {
  double seconds = 0;  ///< after `asked`
  TimeLimit::Clock::time_point asked{};
  std::string source = {};  ///< who told: "SLURM_JOB_END_TIME", "squeue"
};

/// As squeue's TimeLeft has it, "[days-][hours:]minutes:seconds" with hours where there are days.
/// None of "UNLIMITED" and of all that is no such time.
std::optional<int64_t> seconds_of_time_left(std::string_view words);

/// The first line that a program prints, found in PATH and started without a shell; "" where it
/// cannot be started or has printed none after `patience`, when it is killed.
std::string first_line_of(const std::vector<std::string>& command,
                          std::chrono::milliseconds patience);

/// From SLURM_JOB_END_TIME where that is to come, else of SLURM_JOB_ID from squeue, which has 2 s.
/// None outside of a job, of one without an end, and where nobody tells. `variable` is getenv.
std::optional<JobEnd> job_end(const std::function<const char*(const char*)>& variable);

}  // namespace zero::launch
