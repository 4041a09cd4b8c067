#include <algorithm>
#include <cmath>

#include "src/report/escaped_text.hpp"
#include "src/report/sections.hpp"
#include "zero/base/text.hpp"
#include "zero/monitor/run_log.hpp"

namespace zero::report {
namespace {

/// Returns the mean of the last hundredth of the losses, at least of one.
double last_loss(const RunFacts& run) {
  std::vector<double> losses = run.steps.loss;
  std::erase_if(losses, [](double loss) { return !std::isfinite(loss); });
  const size_t count = std::max<size_t>(1, losses.size() / 100);
  return losses.empty() ? NAN : mean_of({losses.end() - ptrdiff_t(count), losses.end()});
}

double first_loss(const RunFacts& run) {
  const auto found =
      std::ranges::find_if(run.steps.loss, [](double loss) { return std::isfinite(loss); });
  return found == run.steps.loss.end() ? NAN : *found;
}

const std::vector<double>* evaluated_losses(const RunFacts& run) {
  for (const Column& column : run.evaluations.columns) {
    if (column.name == "loss") return &column.values;
  }
  return nullptr;
}

std::string end_sentence(const RunFacts& run) {
  const int64_t step = run.steps.steps.empty() ? 0 : int64_t(run.steps.steps.back());
  const std::string steps = run.end.steps > 0 ? text(" of ", run.end.steps) : "";
  return text("After ", step, steps, " steps in ", run.end.launches,
              run.end.launches == 1 ? " launch" : " launches", " the state of ", run.name,
              " is: ", end_words(run.end), ".");
}

std::string loss_sentence(const RunFacts& run) {
  const int64_t bad =
      std::ranges::count_if(run.steps.loss, [](double loss) { return !std::isfinite(loss); });
  std::string words =
      std::isfinite(first_loss(run))
          ? text("The loss went from ", fixed(first_loss(run), 4), " to ", fixed(last_loss(run), 4))
          : std::string("No loss was finite");
  if (const std::vector<double>* losses = evaluated_losses(run)) {
    const auto least = std::ranges::min_element(*losses, [](double a, double b) {
      return std::isfinite(a) && !(std::isfinite(b) && b <= a);
    });
    words += text(", the last evaluation found ", fixed(losses->back(), 4), ", the best ",
                  fixed(*least, 4), " after step ",
                  int64_t(run.evaluations.steps[size_t(least - losses->begin())]));
  }
  const auto skipped = int64_t(run.steps.skipped.size());
  if (skipped > 0) words += text(", ", counted(skipped, "step"), " skipped");
  if (bad > 0 && bad < int64_t(run.steps.loss.size()))
    words += text(", ", bad, bad == 1 ? " loss" : " losses", " not finite");
  return words + ".";
}

std::string speed_words(const RunFacts& run) {
  const double ms = middle_of(run.steps.step_ms), share = share_of_peak(run);
  std::string words = text("a step takes ", fixed(ms, 1), " ms, at ",
                           short_number(std::round(middle_of(run.steps.speed))), " ",
                           run.steps.unit.empty() ? "units" : run.steps.unit, "/s");
  if (std::isfinite(share)) words += text(" and ", fixed(100 * share, 1), " % of peak");
  return words;
}

std::string speed_sentence(const RunFacts& run) {
  if (run.steps.steps.empty()) return "No step has ended yet.";
  const double waits = mean_of(run.steps.exposed_ms) / mean_of(run.steps.step_ms);
  std::string words = speed_words(run);
  words[0] = 'A';
  if (std::isfinite(waits)) words += text("; compute waits ", fixed(100 * waits, 1), " % of it");
  return words + ".";
}

/// Returns the run for which `value` is least; null if it is finite for none.
template <class Value>
const RunFacts* least_of(Runs runs, const Value& value) {
  const RunFacts* found = nullptr;
  for (const RunFacts& run : runs) {
    if (std::isfinite(value(run)) && (!found || value(run) < value(*found))) found = &run;
  }
  return found;
}

std::string verdict_of_several(Runs runs) {
  std::string words;
  for (const RunFacts& run : runs)
    words += text(words.empty() ? "" : "; ", run.name, ": ", end_words(run.end));
  words += ".";
  if (const RunFacts* best = least_of(runs, last_loss))
    words += text(" The lowest last loss, ", fixed(last_loss(*best), 4), ", is that of ",
                  best->name, ".");
  const auto slowness = [](const RunFacts& run) { return -middle_of(run.steps.speed); };
  if (const RunFacts* fastest = least_of(runs, slowness))
    words += text(" The fastest is ", fastest->name, ": ", speed_words(*fastest), ".");
  return words;
}

}  // namespace

std::string verdict(Runs runs) {
  if (runs.size() > 1) return verdict_of_several(runs);
  const RunFacts& run = runs.front();
  return text(end_sentence(run), " ", loss_sentence(run), " ", speed_sentence(run));
}

}  // namespace zero::report
