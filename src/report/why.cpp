#include "zero/report/why.hpp"

#include <chrono>

#include "src/report/escaped_text.hpp"
#include "src/report/run_path.hpp"
#include "src/report/why_paragraph.hpp"
#include "zero/launch/stop.hpp"

namespace zero::report {
namespace {

constexpr std::chrono::milliseconds kPatience(2000);

/// True if a word names a job, because it goes to another program.
bool is_job(const std::string& word) {
  return !word.empty() && word.size() < 20 &&
         word.find_first_not_of("0123456789") == std::string::npos;
}

/// Returns Slurm's word for the state of a job. squeue forgets a job soon after its end.
std::string state_of_job(const std::string& job) {
  if (!is_job(job)) return "";
  const std::string live =
      launch::first_line_of({"squeue", "-h", "-j", job, "-o", "%T"}, kPatience);
  if (!live.empty()) return live;
  return launch::first_line_of({"sacct", "-n", "-X", "-P", "-j", job, "-o", "State"}, kPatience);
}

}  // namespace

std::string why(const std::string& run) {
  require_run(run);
  RunEnd end = run_end(run);
  const bool is_gone =
      end.launches > 0 && !end.holder && (end.last.ended.empty() || end.last.ended == "killed");
  if (is_gone) end.slurm = state_of_job(end.last.job);
  return in_lines(plain(end_text(end)));
}

}  // namespace zero::report
