/// The part of Checkpointer that handles streaks: the checkpoint that leads out of one, and those
/// that stay for it.

#include "src/save/checkpoint_streaks.hpp"

#include <algorithm>
#include <filesystem>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/save/checkpointer.hpp"

namespace zero::save {
namespace {

/// Returns the `healthy` fact. Without it, true if no step is skipped, or in fp16.
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
  // In a streak, a count that was saved as 0 began anew.
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

namespace {

namespace fs = std::filesystem;
using checkpoint::Store;

/// Returns the marks of steps up to `last`, ascending, without damaged manifests.
std::vector<StreakMark> marks_of(const Store& store, const std::vector<int64_t>& steps,
                                 int64_t last) {
  std::vector<StreakMark> marks;
  for (const int64_t step : steps) {
    if (step > last) break;
    try {
      marks.push_back(streak_in(store.read_manifest(store.open_step(step).descriptor(), step)));
    } catch (const Error& error) {
      // A checkpoint that could not be read may be whole.
      if (error.exit() == Exit::kIo) throw;
    }
  }
  return marks;
}

}  // namespace

Start Checkpointer::out_of_streak(Start newest, const std::vector<int64_t>& steps) {
  const StreakMark mark = streak_in(newest.manifest);
  if (mark.is_healthy() || mark.step >= last_step(config_)) return newest;
  const std::string streak =
      text("step ", mark.step, " lies in a streak of ", counted(mark.skipped, "skipped step"));
  const bool is_stuck = streaks_->stuck.contains(mark.step);
  if (!is_stuck &&
      changes_since(newest.manifest.facts, facts_, config_.data.changed).may_end_streak) {
    newest.note = streak + ", whose count begins anew with what has changed";
    newest.on_trial = true;
    return newest;
  }
  std::optional<Start> older = start_before(newest, steps);
  if (!older) {
    newest.note = streak + ", and there is no healthy checkpoint to go back to";
    return newest;
  }
  require_same_training(*older);
  older->note = text(streak,
                     is_stuck ? ", which the changed settings do not end"
                              : ", and learning rate, clipping and data are unchanged",
                     ": step ", older->manifest.step, " is the newest healthy one before it");
  return *older;
}

/// Returns the start before the newest one's streak, or none.
std::optional<Start> Checkpointer::start_before(const Start& newest,
                                                const std::vector<int64_t>& steps) {
  std::vector<int64_t> left;
  for (const int64_t step : steps) {
    if (!damaged_.contains({newest.store, step})) left.push_back(step);
  }
  while (true) {
    std::string found;
    session_.on_every_rank([&] {
      if (!session_.is_first()) return;
      const std::vector<StreakMark> marks = marks_of(*newest.store, left, newest.manifest.step);
      found = text(before_streak(marks).value_or(-1));
    });
    const int64_t step = std::stoll(session_.peers().share(found)[0]);
    if (step < 0) return {};
    Start start{.store = newest.store, .manifest = {}};
    if (look_at(start, step).empty()) return start;
    std::erase(left, step);
  }
}

void Checkpointer::give_up(const Start& start) { streaks_->stuck.insert(start.manifest.step); }

/// Returns the marks of steps before `step`. Warns and returns none if an old checkpoint cannot be
/// read, because a save must not fail for that.
std::vector<StreakMark> Checkpointer::marks_before(int64_t step) const {
  try {
    return marks_of(*store_, store_->steps(), step - 1);
  } catch (const Error& error) {
    warn("none of the checkpoints before is kept as healthy: ", error.what());
    return {};
  }
}

/// Returns the checkpoint that leads out of the streak of `saved`, or of one that begins after it.
std::optional<int64_t> Checkpointer::healthy_beside(const StreakMark& saved) {
  streaks_->saving = saved;
  if (!session_.is_first() || config_.checkpoint.keep == 0) return {};
  std::vector<StreakMark>& there = streaks_->committed;
  if (!std::exchange(streaks_->is_read, true)) there = marks_before(saved.step);
  std::vector<StreakMark> marks = there;
  marks.push_back(saved);
  const std::optional<int64_t> healthy = before_streak(marks);
  std::erase_if(there, [&](const StreakMark& mark) { return healthy && mark.step < *healthy; });
  return healthy;
}

/// Renames newer steps, which will be reached again, because a step is never overwritten.
void Checkpointer::set_newer_aside(const Start& start) {
  for (const int64_t step : store_->steps()) {
    if (step <= start.manifest.step) continue;
    const std::string from = store_->root() + "/" + Store::folder_of(step);
    const char* why = damaged_.contains({store_.get(), step}) ? "damaged" : "streak";
    std::error_code error;
    std::string to;
    for (int i = 1; to.empty() || is_taken(to); ++i) {
      to = text(store_->root(), "/", why, "-", i, "-", Store::folder_of(step));
    }
    fs::rename(from, to, error);
    if (error) refuse(Exit::kIo, from, ": to ", to, ": ", error.message());
    warn(from, " is now ", to);
  }
}

}  // namespace zero::save
