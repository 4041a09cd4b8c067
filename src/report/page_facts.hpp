#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/report/rank_rows.hpp"
#include "src/report/run_files.hpp"
#include "src/report/why_paragraph.hpp"

namespace zero::report {

/// A number of each step, by its name in the file.
struct Column {
  std::string name;
  std::vector<double> values;
};

/// The steps of a run by columns. All have equally many values.
struct StepColumns {
  std::vector<double> steps, loss, norm, speed, step_ms, exposed_ms;
  std::vector<Column> phases = {};   ///< ms; named "forward"
  std::vector<double> skipped = {};  ///< steps that were skipped
  std::string unit = {};             ///< what the speed counts, in the plural
};

/// The evaluations of a run: loss first, then the scores of its task.
struct Evaluations {
  std::vector<double> steps = {};
  std::vector<Column> columns = {};
};

/// All that a report shows of a run.
struct RunFacts {
  std::string path, name;
  RunEnd end;
  std::vector<LaunchRow> launches;  ///< the newest ones
  std::vector<SaveRow> saves;
  Settings settings;
  StepColumns steps;
  Evaluations evaluations;
  nlohmann::ordered_json summary;  ///< null before the end of a launch
  std::vector<RankRow> ranks;      ///< some hundred lines of ranks.jsonl
};

/// Reads a run. Throws Error(kInput) for a folder of no run.
RunFacts read_run(const std::string& path);

/// Returns the middle of the finite values; NaN without any.
double middle_of(const std::vector<double>& values);
/// Returns the mean of the finite values; NaN without any.
double mean_of(const std::vector<double>& values);

/// Returns a number at a path of a JSON value, such as "/memory/device/planned_bytes"; NaN if there
/// is none.
double number_at(const nlohmann::ordered_json& json, const std::string& path);

/// Returns the share of the ranks' peak at the middle speed; NaN if no peak is known.
double share_of_peak(const RunFacts& run);

}  // namespace zero::report
