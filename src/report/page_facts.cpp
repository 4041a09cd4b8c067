#include "src/report/page_facts.hpp"

#include <algorithm>
#include <cmath>

#include "src/report/escaped_text.hpp"
#include "src/report/metrics_reader.hpp"
#include "src/report/run_path.hpp"
#include "zero/base/path.hpp"
#include "zero/config/objective_keys.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostRecordBytes = int64_t(16) << 20;
constexpr int64_t kMostRankBytes = int64_t(64) << 20;
constexpr size_t kMostRankRows = 400;

bool is_phase(std::string_view name) {
  return name.ends_with("_ms") && name != "step_ms" && name != "exposed_ms";
}

/// A reader of metrics.jsonl into columns.
class StepReader {
 public:
  StepColumns read(const std::string& path) {
    read_steps(path, {.drop_from = [this](int64_t step) { drop_from(double(step)); },
                      .take = [this](const StepLine& line) { take(line); }});
    return std::move(columns_);
  }

 private:
  void drop_from(double step) {
    StepColumns& c = columns_;
    size_t keep = c.steps.size();
    while (keep > 0 && c.steps[keep - 1] >= step) --keep;
    for (std::vector<double>* column : all()) column->resize(std::min(keep, column->size()));
    while (!c.skipped.empty() && c.skipped.back() >= step) c.skipped.pop_back();
  }

  void take(const StepLine& line) {
    StepColumns& c = columns_;
    const size_t row = c.steps.size();
    for (const LineValue& value : line.values) {
      if (std::vector<double>* column = column_of(value.name)) {
        column->resize(row, NAN);
        column->push_back(number_of(value));
      } else if (value.name == "skipped" && value.text == "true") {
        c.skipped.push_back(double(line.step));
      }
    }
    for (std::vector<double>* column : all()) column->resize(row + 1, NAN);
  }

  std::vector<double>* column_of(std::string_view name) {
    StepColumns& c = columns_;
    if (name == "step") return &c.steps;
    if (name == "loss") return &c.loss;
    if (name == "grad_norm") return &c.norm;
    if (name == "step_ms") return &c.step_ms;
    if (name == "exposed_ms") return &c.exposed_ms;
    constexpr std::string_view kSpeed = "_per_s";
    if (name.ends_with(kSpeed)) {
      if (c.unit.empty()) c.unit = name.substr(0, name.size() - kSpeed.size());
      return &c.speed;
    }
    return is_phase(name) ? phase_of(name.substr(0, name.size() - 3)) : nullptr;
  }

  std::vector<double>* phase_of(std::string_view name) {
    constexpr size_t kMostPhases = 12;
    std::vector<Column>& phases = columns_.phases;
    const auto found = std::ranges::find(phases, name, &Column::name);
    if (found != phases.end()) return &found->values;
    if (phases.size() == kMostPhases) return nullptr;
    return &phases.emplace_back(Column{std::string(name), {}}).values;
  }

  std::vector<std::vector<double>*> all() {
    StepColumns& c = columns_;
    std::vector<std::vector<double>*> columns = {&c.steps, &c.loss,    &c.norm,
                                                 &c.speed, &c.step_ms, &c.exposed_ms};
    for (Column& phase : c.phases) columns.push_back(&phase.values);
    return columns;
  }

  StepColumns columns_;
};

/// True if a number of an evaluation says how good the weights are.
bool is_score(const LineValue& value) {
  const std::string_view name = value.name;
  const std::string_view unit = name.substr(0, name.size() - size_t(name.ends_with('s')));
  const bool is_count = unit == "step" || unit == "text" || unit == kByToken || unit == kBySample;
  return !value.is_text && !is_count && !name.ends_with("seconds") && name != "perplexity";
}

/// Returns the column of a name, which it may add; null if kMostColumns are there.
Column* column_of(std::vector<Column>& columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name, &Column::name);
  if (found != columns.end()) return &*found;
  if (columns.size() == kMostColumns) return nullptr;
  return &columns.emplace_back(Column{std::string(name), {}});
}

Evaluations read_evaluations(const std::string& path) {
  Evaluations all;
  const auto drop_from = [&](int64_t step) {
    while (!all.steps.empty() && all.steps.back() >= double(step)) all.steps.pop_back();
    for (Column& column : all.columns)
      column.values.resize(std::min(column.values.size(), all.steps.size()));
  };
  const auto take = [&](const StepLine& line) {
    for (const LineValue& value : line.values) {
      Column* column = is_score(value) ? column_of(all.columns, value.name) : nullptr;
      if (!column) continue;
      column->values.resize(all.steps.size(), NAN);
      column->values.push_back(number_of(value));
    }
    all.steps.push_back(double(line.step));
    for (Column& column : all.columns) column.values.resize(all.steps.size(), NAN);
  };
  read_steps(path, {.drop_from = drop_from, .take = take});
  return all;
}

/// Reads some lines, evenly apart.
std::vector<RankRow> read_ranks(const std::string& path) {
  std::vector<RankRow> rows;
  if (!is_there(path)) return rows;
  const std::string content = last_lines(path, kMostRankBytes);
  const std::vector<std::string_view> lines = lines_of(content);
  const size_t count = std::min(kMostRankRows, lines.size());
  for (size_t i = 0; i < count; ++i) {
    RankRow row;
    if (!read_rank_row(lines[lines.size() * i / count], row)) continue;
    const bool is_first = rows.empty();
    if (!is_first && row.ranks.size() != rows.back().ranks.size()) rows.clear();
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<double> finite(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return values;
}

}  // namespace

RunFacts read_run(const std::string& path) {
  require_run(path);
  RunFacts run{.path = path,
               .name = name_of_run(path),
               .end = run_end(path),
               .launches = launches_of(path, kMostRecordBytes),
               .saves = {},
               .settings = settings_of(path),
               .steps = StepReader().read(path + "/metrics.jsonl"),
               .evaluations = read_evaluations(path + "/evaluations.jsonl"),
               .summary = object_in(path + "/summary.json"),
               .ranks = read_ranks(path + "/ranks.jsonl")};
  run.saves = saves_of(path, run.settings);
  return run;
}

double middle_of(const std::vector<double>& values) {
  std::vector<double> good = finite(values);
  if (good.empty()) return NAN;
  const auto at = good.begin() + ptrdiff_t(good.size() / 2);
  std::ranges::nth_element(good, at);
  return *at;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  const std::vector<double> good = finite(values);
  for (const double value : good) sum += value;
  return good.empty() ? NAN : sum / double(good.size());
}

double number_at(const Json& json, const std::string& path) {
  const Json::json_pointer pointer(path);
  if (!json.is_object() || !json.contains(pointer)) return NAN;
  const Json& value = json.at(pointer);
  return value.is_number() ? value.get<double>() : NAN;
}

double share_of_peak(const RunFacts& run) {
  const double peak = number_at(run.summary, "/peak_flops"),
               each = number_at(run.summary, "/flops_per_unit");
  return peak > 0 ? middle_of(run.steps.speed) * each / peak : NAN;
}

}  // namespace zero::report
