#include "zero/report/measured.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "src/report/metrics_reader.hpp"
#include "src/report/page_facts.hpp"
#include "src/report/rank_rows.hpp"
#include "src/report/run_files.hpp"
#include "src/report/run_path.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/monitor/step_record.hpp"

namespace zero::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kRecordBytes = int64_t(16) << 20, kRankBytes = int64_t(4) << 20;
/// The first steps take memory and choose products.
constexpr int64_t kFirstSteps = 2;
constexpr size_t kLeastSteps = 3, kMostSteps = 1000;

/// The values of steps by name.
struct Columns {
  std::vector<double> steps = {};
  std::map<std::string, std::vector<double>, std::less<>> values = {};

  double middle(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? NAN : middle_of(found->second);
  }
};

void take(const StepLine& line, Columns& columns) {
  if (columns.steps.size() == 2 * kMostSteps) {
    const auto forget = [](std::vector<double>& values) {
      values.erase(values.begin(), values.begin() + ptrdiff_t(kMostSteps));
    };
    forget(columns.steps);
    for (auto& [name, values] : columns.values) forget(values);
  }
  columns.steps.push_back(double(line.step));
  for (const LineValue& value : line.values) {
    if (value.is_text) continue;
    std::vector<double>& column = columns.values[std::string(value.name)];
    column.resize(columns.steps.size() - 1, NAN);
    column.push_back(number_of(value));
  }
  for (auto& [name, values] : columns.values) values.resize(columns.steps.size(), NAN);
}

/// Reads the lines of steps behind `first`.
Columns columns_of(const std::string& path, int64_t first) {
  Columns columns;
  const auto drop_from = [&](int64_t step) {
    size_t keep = columns.steps.size();
    while (keep > 0 && columns.steps[keep - 1] >= double(step)) --keep;
    columns.steps.resize(keep);
    for (auto& [name, values] : columns.values) values.resize(keep);
  };
  read_steps(path, {.drop_from = drop_from, .take = [&](const StepLine& line) {
                      if (line.step > first) take(line, columns);
                    }});
  return columns;
}

LaunchRow last_launch(const std::string& run) {
  const std::vector<LaunchRow> launches = launches_of(run, kRecordBytes);
  const bool is_whole =
      !launches.empty() && launches.back().ranks > 0 && launches.back().threads > 0;
  if (is_whole) return launches.back();
  refuse(Exit::kInput, run, "/launches.jsonl: ",
         is_there(run + "/launches.jsonl")
             ? "its last line names no ranks and threads; restore the file"
             : "is missing; explain needs the ranks of the last launch");
}

/// Returns the unit of "tokens_per_s", or "".
std::string unit_in(const Columns& columns) {
  constexpr std::string_view kSpeed = "_per_s";
  for (const auto& [name, values] : columns.values) {
    if (name.ends_with(kSpeed)) return name.substr(0, name.size() - kSpeed.size());
  }
  return "";
}

void add_steps(const std::string& run, const Columns& columns, Measured& measured) {
  const std::string path = run + "/metrics.jsonl";
  if (columns.steps.size() < kLeastSteps) {
    refuse(Exit::kInput, path, ": the last launch has ", columns.steps.size(),
           " steps behind its first ", kFirstSteps, "; explain a launch of at least ",
           kFirstSteps + int64_t(kLeastSteps), " steps");
  }
  measured.steps = int64_t(columns.steps.size());
  measured.step_seconds = 1e-3 * columns.middle("step_ms");
  measured.exposed_seconds = 1e-3 * columns.middle("exposed_ms");
  measured.unit = unit_in(columns);
  measured.units = columns.middle(measured.unit);
  bool is_whole = measured.step_seconds > 0 && measured.units > 0;
  for (const run::Phase phase : monitor::kShownPhases) {
    const std::string name = run::name_of(phase);
    const double seconds = 1e-3 * columns.middle(name + "_ms");
    measured.phases[name] = seconds;
    is_whole = is_whole && seconds >= 0;
  }
  if (is_whole) return;
  refuse(Exit::kInput, path, ": its lines lack the times or counts of steps; restore the file, or ",
         "let the run take more steps");
}

void add_places(const std::string& run, Measured& measured) {
  measured.node_ranks = measured.ranks;
  if (!is_there(run + "/ranks.jsonl")) return;
  const std::string text = last_lines(run + "/ranks.jsonl", kRankBytes);
  const std::vector<std::string_view> lines = lines_of(text);
  RankRow row;
  if (lines.empty() || !read_rank_row(lines.back(), row)) return;
  if (int64_t(row.ranks.size()) != measured.ranks) return;
  measured.device = row.devices[0];
  measured.node_ranks = 1;
  for (const std::string& host : row.hosts) {
    measured.node_ranks =
        std::max(measured.node_ranks, int64_t(std::ranges::count(row.hosts, host)));
  }
}

/// Adds the times of kinds and lanes if the summary is of the last launch.
void add_summary(const std::string& run, const LaunchRow& launch, Measured& measured) {
  const std::string path = run + "/summary.json";
  if (launch.ended.empty() || measured.is_live || !is_there(path)) return;
  const Json summary = object_in(path);
  if (!summary.is_object()) {
    refuse(Exit::kInput, path, ": is no JSON object; remove it to explain by metrics.jsonl alone");
  }
  const double steps = number_at(summary, "/steps") - double(launch.from);
  const bool is_of_last = number_at(summary, "/launch/first_step") == double(launch.from) + 1 &&
                          number_at(summary, "/ranks") == double(launch.ranks) && steps > 0;
  const auto regions = summary.find("regions"), lanes = summary.find("lanes");
  if (!is_of_last || regions == summary.end() || lanes == summary.end()) return;
  for (const auto& [name, region] : regions->items()) {
    const double seconds = number_at(region, "/mean");
    const int64_t calls = whole_in(region, "calls");
    if (seconds >= 0 && calls > 0) measured.kinds[name] = {seconds, calls};
  }
  for (const auto& [name, lane] : lanes->items()) {
    const double seconds = number_at(lane, "/busy_seconds/mean");
    if (seconds >= 0) measured.lanes[name] = seconds / steps;
  }
}

}  // namespace

Measured measured_of(const std::string& run) {
  require_run(run);
  const LaunchRow launch = last_launch(run);
  Measured measured{.host = launch.host,
                    .device = {},
                    .ranks = launch.ranks,
                    .threads = launch.threads,
                    .is_live = launch.ended.empty() && live_holder(run).has_value(),
                    .phases = {},
                    .kinds = {},
                    .lanes = {}};
  add_steps(run, columns_of(run + "/metrics.jsonl", launch.from + kFirstSteps), measured);
  add_places(run, measured);
  add_summary(run, launch, measured);
  return measured;
}

}  // namespace zero::report
