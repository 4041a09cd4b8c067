#include "src/save/streaks.hpp"

#include <algorithm>

#include "zero/save/checkpoint_facts.hpp"

namespace zero::save {
namespace {

/// Judges a checkpoint that lacks the `healthy` fact by its count of skipped steps.
bool was_healthy(const Facts& facts, int64_t skipped) {
  const auto fact = facts.find(kHealthyFact);
  if (fact != facts.end()) return fact->second == "true";
  const auto compute = facts.find("compute");
  const bool may_scale = compute != facts.end() && compute->second == "fp16";
  return skipped == 0 || may_scale;
}

}  // namespace

bool counts_streaks(const RunConfig& config) {
  return !(config.fp16.enabled && config.fp16.loss_scale == 0);
}

StreakMark streak_mark(const RunConfig& config, int64_t step, const kernels::StepState& state) {
  const bool counts = counts_streaks(config) || state.report.scale_exhausted != 0;
  return {.step = step, .skipped = counts ? int64_t(state.skipped_in_row) : 0};
}

void add_streak(const StreakMark& mark, Facts& facts) {
  facts[kHealthyFact] = mark.is_healthy() ? "true" : "false";
}

StreakMark streak_in(const checkpoint::Manifest& manifest) {
  const int64_t skipped = skipped_in_row(manifest.facts);
  const bool healthy = was_healthy(manifest.facts, skipped);
  // The count began anew where it was saved with 0, and the streak did not.
  return {.step = manifest.step, .skipped = healthy ? 0 : std::max<int64_t>(1, skipped)};
}

std::optional<int64_t> newest_proven(std::span<const StreakMark> marks) {
  for (size_t i = marks.size(); i-- > 1;) {
    const StreakMark &mark = marks[i - 1], &next = marks[i];
    if (mark.is_healthy() && next.step - next.skipped > mark.step) return mark.step;
  }
  return {};
}

std::optional<int64_t> before_streak(std::span<const StreakMark> marks) {
  if (const std::optional<int64_t> proven = newest_proven(marks)) return proven;
  const auto healthy = std::find_if(marks.rbegin(), marks.rend(),
                                    [](const StreakMark& mark) { return mark.is_healthy(); });
  return healthy == marks.rend() ? std::nullopt : std::optional(healthy->step);
}

}  // namespace zero::save
