#include <algorithm>
#include <cmath>

#include "src/report/escaped_text.hpp"
#include "src/report/sections.hpp"
#include "zero/base/text.hpp"

namespace zero::report {
namespace {

constexpr size_t kMostScores = 6;

std::string named(Runs runs, const RunFacts& run, const std::string& words) {
  return runs.size() == 1 ? words : text(run.name, ", ", words);
}

/// Returns the steps after which other launches went on.
std::vector<double> launch_steps(const RunFacts& run) {
  std::vector<double> steps;
  for (const LaunchRow& launch : run.launches) {
    if (launch.from > 0) steps.push_back(double(launch.from));
  }
  std::ranges::sort(steps);
  return steps;
}

/// Adds the marks of a single run and words on them. Marks of several runs would not be told apart.
void add_marks(Chart& chart, Runs runs) {
  if (runs.size() > 1) return;
  const RunFacts& run = runs.front();
  chart.skipped = run.steps.skipped;
  chart.launches = launch_steps(run);
  if (!chart.skipped.empty())
    chart.note +=
        text("Red at the foot: ", counted(int64_t(chart.skipped.size()), "skipped step"), ". ");
  if (!chart.launches.empty()) chart.note += "Dashed: where another launch went on. ";
}

int colour(Runs runs, const RunFacts& run, int single) {
  return runs.size() == 1 ? single : int(&run - runs.data());
}

using Values = const std::vector<double>& (*)(const StepColumns&);

Chart chart_of_steps(Runs runs, const std::string& title, Values values) {
  Chart chart{.title = title};
  for (const RunFacts& run : runs) {
    chart.curves.push_back({.name = named(runs, run, "training"),
                            .steps = run.steps.steps,
                            .values = values(run.steps),
                            .colour = colour(runs, run, 0)});
  }
  return chart;
}

/// Adds the curve of an evaluation's number for each run that has it.
void add_evaluations(Chart& chart, Runs runs, const std::string& name, const std::string& words) {
  for (const RunFacts& run : runs) {
    const auto column = std::ranges::find(run.evaluations.columns, name, &Column::name);
    if (column == run.evaluations.columns.end()) continue;
    chart.curves.push_back({.name = named(runs, run, words),
                            .steps = run.evaluations.steps,
                            .values = column->values,
                            .colour = colour(runs, run, 1),
                            .has_dots = true});
  }
}

/// Returns the names of all scores beside the loss, at most kMostScores.
std::vector<std::string> scores_of(Runs runs) {
  std::vector<std::string> names;
  for (const RunFacts& run : runs) {
    for (const Column& column : run.evaluations.columns) {
      const bool is_known = std::ranges::find(names, column.name) != names.end();
      if (column.name != "loss" && !is_known && names.size() < kMostScores)
        names.push_back(column.name);
    }
  }
  return names;
}

}  // namespace

Chart loss_chart(Runs runs) {
  Chart chart = chart_of_steps(
      runs, "Loss", [](const StepColumns& c) -> const std::vector<double>& { return c.loss; });
  add_evaluations(chart, runs, "loss", "evaluations");
  add_marks(chart, runs);
  return chart;
}

std::string curves_section(Runs runs) {
  std::string out = chart_html(loss_chart(runs));
  for (const std::string& name : scores_of(runs)) {
    Chart chart{.title = text("Evaluations: ", name)};
    add_evaluations(chart, runs, name, name);
    out += chart_html(chart);
  }
  Chart norm =
      chart_of_steps(runs, "Norm of the gradient",
                     [](const StepColumns& c) -> const std::vector<double>& { return c.norm; });
  norm.from_zero = true;
  return out + chart_html(norm);
}

std::string speed_section(Runs runs) {
  const std::string& unit = runs.front().steps.unit;
  Chart chart = chart_of_steps(
      runs, "Speed", [](const StepColumns& c) -> const std::vector<double>& { return c.speed; });
  chart.unit = text(unit.empty() ? "units" : unit, "/s of all ranks");
  chart.from_zero = true;
  for (const RunFacts& run : runs) {
    const double share = share_of_peak(run);
    chart.note +=
        text(runs.size() == 1 ? "" : run.name + ": ", "middle ",
             short_number(std::round(middle_of(run.steps.speed))),
             std::isfinite(share) ? text(", ", fixed(100 * share, 1), " % of peak") : "", ". ");
  }
  return chart_html(chart);
}

}  // namespace zero::report
