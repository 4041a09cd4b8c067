#include "zero/report/top.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>

#include "src/report/escaped_text.hpp"
#include "src/report/metrics_reader.hpp"
#include "src/report/rank_rows.hpp"
#include "src/report/run_files.hpp"
#include "src/report/run_path.hpp"
#include "zero/base/text.hpp"
#include "zero/launch/stop.hpp"
#include "zero/monitor/run_log.hpp"

namespace zero::report {
namespace {

using monitor::duration_text;

constexpr int64_t kTailBytes = int64_t(64) << 10;
/// Bytes that hold the last lines of some thousand ranks.
constexpr int64_t kRankBytes = int64_t(4) << 20;
constexpr size_t kBarWidth = 40;
constexpr size_t kStepsOfMean = 50;

/// The last step of a run, and the middle one of the last steps' times.
struct LastStep {
  int64_t step = 0;
  std::string line;
  double middle_ms = NAN;
};

std::optional<LastStep> last_step(const std::string& run) {
  const std::string tail = last_lines(run + "/metrics.jsonl", kTailBytes);
  const std::vector<std::string_view> lines = lines_of(tail);
  std::optional<LastStep> last;
  std::vector<double> times;
  LineValues values;
  for (auto line = lines.rbegin(); line != lines.rend() && times.size() < kStepsOfMean; ++line) {
    if (!read_line(*line, values) || step_in(values) <= 0) continue;
    if (!last) last.emplace(LastStep{.step = step_in(values), .line = std::string(*line)});
    if (const double ms = number_in(values, "step_ms"); ms >= 0) times.push_back(ms);
  }
  std::ranges::nth_element(times, times.begin() + ptrdiff_t(times.size() / 2));
  if (last && !times.empty()) last->middle_ms = times[times.size() / 2];
  return last;
}

/// Returns the value that ends with "s_per_s" as "12000 tokens/s".
std::string speed_text(const LineValues& values) {
  for (const LineValue& value : values) {
    constexpr std::string_view kEnd = "_per_s";
    if (!value.name.ends_with(kEnd)) continue;
    return text(format("%.0f ", number_in(values, value.name)),
                value.name.substr(0, value.name.size() - kEnd.size()), "/s");
  }
  return "";
}

std::string step_text(const LineValues& values, double middle_ms, int64_t steps) {
  const int64_t step = step_in(values);
  std::string line = text("step ", step);
  if (steps > 0) line += text("/", steps, format(" %.1f %%", 100 * double(step) / double(steps)));
  append(line, "  loss %.4f  norm %.3g  lr %.2e  %.1f ms  ", number_in(values, "loss"),
         number_in(values, "grad_norm"), number_in(values, "lr"), number_in(values, "step_ms"));
  line += speed_text(values);
  const LineValue* skipped = find_value(values, "skipped");
  if (skipped && skipped->text == "true") line += "  skipped";
  if (steps > step && middle_ms >= 0)
    line += text("  ETA ", duration_text(1e-3 * middle_ms * double(steps - step)));
  return line + "\n";
}

/// Returns a bar for each phase of the step, and for the time that compute waited.
std::string bars_text(const LineValues& values) {
  std::string lines;
  const double whole = number_in(values, "step_ms");
  for (const LineValue& value : values) {
    constexpr std::string_view kEnd = "_ms";
    if (!value.name.ends_with(kEnd) || value.name == "step_ms") continue;
    const std::string_view phase = value.name.substr(0, value.name.size() - kEnd.size());
    const double ms = number_in(values, value.name);
    const double share = whole > 0 && ms > 0 ? std::min(1.0, ms / whole) : 0;
    std::string bar(size_t(std::lround(share * double(kBarWidth))), '#');
    bar.resize(kBarWidth, '.');
    lines += text(format("  %-10s ", std::string(phase == "exposed" ? "waiting" : phase).c_str()),
                  bar, format(" %9.1f ms\n", ms));
  }
  return lines;
}

std::string state_text(const std::string& run, const std::vector<LaunchRow>& launches) {
  if (launches.empty()) return text(run, ": no launch is on record\n");
  const LaunchRow& last = launches.back();
  const std::optional<LockHolder> holder = live_holder(run);
  const std::string state = !last.ended.empty() ? last.ended : holder ? "running" : "killed";
  const int64_t age = age_of(run + "/metrics.jsonl");
  return text(run, ": ", state, ", ", counted(last.ranks, "rank"), ", host ", last.host,
              last.job.empty() ? "" : ", job " + last.job, ", began ", last.start,
              age >= 0 ? ", last line " + duration_text(double(age)) + " ago" : "", "\n");
}

std::string saved_text(const std::vector<SaveRow>& saves) {
  if (saves.empty()) return "saved     nothing yet\n";
  const double age = double(std::time(nullptr) - saves.back().written);
  return text("saved     step ", saves.back().step, ", ", duration_text(std::max(0.0, age)),
              " ago\n");
}

/// Returns the seconds until a step has ended at the middle speed; infinity if that is unknown.
double seconds_until(int64_t step, const std::optional<LastStep>& last) {
  if (step <= 0 || !last || !(last->middle_ms >= 0)) return INFINITY;
  return 1e-3 * last->middle_ms * double(std::max<int64_t>(0, step - last->step));
}

/// Returns the cause of the end that comes first.
std::string end_text(const Settings& settings, const LaunchRow& launch, double job_seconds,
                     const std::optional<LastStep>& last) {
  const int64_t walltime = whole_number(settings, "run.walltime", 0);
  const int64_t steps = whole_number(settings, "run.steps", 0);
  const int64_t stop_at = whole_number(settings, "run.stop_at", 0);
  const bool stops = stop_at > 0 && (steps <= 0 || stop_at < steps);
  const double by_steps = seconds_until(stops ? stop_at : steps, last);
  const double by_job = job_seconds >= 0 ? job_seconds : INFINITY;
  const double by_walltime =
      walltime > 0 ? std::max(0.0, double(seconds_of(launch.start) + walltime - std::time(nullptr)))
                   : INFINITY;
  const double by_clock = std::min(by_walltime, by_job);
  if (by_clock < by_steps) {
    return text("ends      by ", by_job < by_walltime ? "the limit of Slurm's job" : "run.walltime",
                " in ", duration_text(by_clock), "\n");
  }
  if (stops) return text("ends      after step ", stop_at, " (run.stop_at)\n");
  return "ends      after its last step\n";
}

std::string lagging_text(const std::string& run) {
  const std::vector<RankLag> lagging = lagging_ranks(last_lines(run + "/ranks.jsonl", kRankBytes));
  std::string words;
  for (const RankLag& lag : lagging) {
    words += text(words.empty() ? "lagging   " : ", ", "rank ", lag.rank,
                  lag.host.empty() ? "" : " on " + lag.host, format(" %.2f x", lag.factor));
  }
  return words.empty() ? "" : words + "\n";
}

}  // namespace

std::string top_text(const std::string& run, double job_seconds) {
  require_run(run);
  const std::vector<LaunchRow> launches = launches_of(run, kTailBytes);
  const Settings settings = settings_of(run);
  std::string words = state_text(run, launches);
  const std::optional<LastStep> last = last_step(run);
  if (last) {
    LineValues values;
    read_line(last->line, values);
    words += step_text(values, last->middle_ms, whole_number(settings, "run.steps", 0));
    words += bars_text(values);
  } else {
    words += "no step yet\n";
  }
  words += lagging_text(run) + saved_text(saves_of(run, settings));
  const bool is_open = !launches.empty() && launches.back().ended.empty();
  if (is_open) words += end_text(settings, launches.back(), job_seconds, last);
  std::string shown;
  for (const std::string_view line : lines_of(words)) shown += plain(line) + "\n";
  return shown;
}

double job_seconds_left(const std::string& run) {
  const std::vector<LaunchRow> launches = launches_of(run, kTailBytes);
  if (launches.empty() || !launches.back().ended.empty()) return -1;
  const std::string& job = launches.back().job;
  if (job.empty() || job.find_first_not_of("0123456789") != job.npos) return -1;
  const std::string line = launch::first_line_of({"squeue", "-h", "-j", job, "-O", "TimeLeft"},
                                                 std::chrono::milliseconds(2000));
  const std::optional<int64_t> left = launch::seconds_of_time_left(line);
  return left ? double(*left) : -1;
}

bool has_ended(const std::string& run) {
  const std::vector<LaunchRow> launches = launches_of(run, kTailBytes);
  return !launches.empty() && !launches.back().ended.empty();
}

}  // namespace zero::report
