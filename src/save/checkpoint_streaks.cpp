/// The part of Checkpointer that knows of streaks: which checkpoint leads out of one, and which
/// must stay so that one does.

#include <filesystem>

#include "src/save/streaks.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/config/steps.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/save/checkpointer.hpp"

namespace zero::save {
namespace {

namespace fs = std::filesystem;
using checkpoint::Store;

/// The marks of the steps up to `last`, ascending, but for those whose manifest is damaged.
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

/// The start before the streak that the newest lies in; none where there is none.
std::optional<Start> Checkpointer::start_before(const Start& newest,
                                                const std::vector<int64_t>& steps) {
  std::vector<int64_t> left;
  for (const int64_t step : steps) {
    if (!damaged_.contains({newest.store, step})) left.push_back(step);
  }
  while (true) {
    std::string found;
    session_.together([&] {
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

/// None, and a warning, where an old checkpoint cannot be read: a save does not fail for it.
std::vector<StreakMark> Checkpointer::marks_before(int64_t step) const {
  try {
    return marks_of(*store_, store_->steps(), step - 1);
  } catch (const Error& error) {
    warn("none of the checkpoints before is kept as healthy: ", error.what());
    return {};
  }
}

/// The checkpoint that leads out of a streak, should `saved` lie in one, or one begin after it.
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

/// Steps that will be reached again must have a place, and a step is never overwritten.
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
