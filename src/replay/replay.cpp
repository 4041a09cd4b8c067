#include "zero/replay/replay.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "src/replay/replay_causes.hpp"
#include "src/replay/replay_comparison.hpp"
#include "src/replay/replay_target.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/launch/console.hpp"
#include "zero/train/rerun.hpp"

namespace zero::replay {
namespace {

/// A step that differs, the same on every rank except `words`, which only the first rank has.
struct Finding {
  int64_t step = 0;
  int64_t row = -1;  ///< first digest that differs; -1: none is known to
  std::string words = {};
};

/// The parts of the run whose bits depend on the launch, unless it is reproducible.
std::string other_launch(const Target& target, const train::Rerun& rerun, int ranks) {
  const RecordedLaunch launch = launch_of(target.folder, target.from + 1);
  const save::Facts facts = facts_of(target, launch).value_or(rerun.saved_facts());
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() ? "" : "; ") + part; };
  if (ranks != target.ranks)
    add(text("its launch had ", counted(target.ranks, "rank"), ", this one ", ranks));
  const int64_t stage = target.stage >= 0 ? target.stage : std::stoll("0" + facts.at("stage"));
  const int64_t now = rerun.config().zero.stage;
  // Stages 0 and 1 have the same bits, and so have 2 and 3.
  if (stage / 2 != now / 2) add(text("its zero.stage was ", stage, ", this one is ", now));
  for (const std::string& change : rerun.changes(facts))
    if (change.starts_with("arithmetic: ")) add(change);
  return words;
}

/// A replay of one run on this rank.
class Replay {
 public:
  Replay(launch::Session& session, const train::Order& order, Target target)
      : session_(session),
        target_(std::move(target)),
        console_(session.is_first()),
        rerun_(session, order,
               {.folder = target_.folder,
                .checkpoint = target_.checkpoint(target_.from),
                .ranks = target_.ranks}),
        digests_(rerun_.engine().plan(), session.threads()) {
    require_same_bits();
    learn_causes();
    session_.on_every_rank([&] {
      if (session_.is_first()) there_ = read_recorded(target_.folder, target_.from, target_.to);
    });
    learn_rejected();
    learn_last();
  }

  /// Takes each step once. Returns the first one that differs.
  std::optional<Finding> find_in_order() { return find_up_to(target_.to); }

  /// Halves the digests of the run until the first wrong one is left, then takes the steps before
  /// it one by one.
  std::optional<Finding> find_by_halves();

  /// Ends all ranks with what differs, or prints that nothing does.
  void conclude(std::optional<Finding> found);

 private:
  void require_same_bits();
  void learn_causes();
  std::string causes_up_to(int64_t step) const;
  bool is_whole(int64_t step, const char* otherwise);
  void learn_last();
  std::vector<int64_t> shared(const std::vector<int64_t>& steps) const;
  std::vector<int64_t> digested_steps() const;
  void learn_rejected();
  kernels::StepReport take_step();
  std::optional<Finding> find_up_to(int64_t end);
  std::optional<Finding> compare_step(const kernels::StepReport& report);
  int64_t compare_state(int64_t step);
  std::string units_of(int64_t step, int64_t row);
  void load_newest(int64_t good);
  void go_to(int64_t good, int64_t step);
  void tell_progress();

  launch::Session& session_;
  Target target_;
  launch::Console console_;
  train::Rerun rerun_;
  state::UnitDigests digests_;
  Recorded there_;                 ///< on the first rank
  std::vector<Cause> causes_;      ///< likewise
  std::vector<int64_t> rejected_;  ///< steps that the run's audits have rejected
  int64_t steps_ = 0, states_ = 0, replays_ = 1;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

/// Refuses a replay that cannot have the bits of the run.
void Replay::require_same_bits() {
  session_.on_every_rank([&] {
    const std::string note = rerun_.bytes_note();
    if (!note.empty()) refuse(Exit::kUsage, target_.folder, ": cannot be replayed: ", note);
    if (rerun_.config().numerics.reproducible || !session_.is_first()) return;
    const std::string other = other_launch(target_, rerun_, session_.ranks());
    if (other.empty()) return;
    refuse(Exit::kUsage, target_.folder, ": was not trained with numerics.reproducible, so its ",
           "bits are of its own launch: ", other, " - replay it as it was launched");
  });
}

void Replay::learn_causes() {
  session_.on_every_rank([&] {
    if (session_.is_first()) causes_ = causes_of(target_, rerun_);
  });
  for (const Cause& cause : causes_)
    warn("steps from ", cause.step, " on may have other bits here: ", cause.change);
}

/// Returns the changes that may be why a step differs; "" if none is known.
std::string Replay::causes_up_to(int64_t step) const {
  std::string words;
  for (const Cause& cause : causes_)
    if (cause.step <= step) words += (words.empty() ? "" : "; ") + cause.change;
  return words;
}

/// True if a checkpoint can be loaded. Otherwise warns with what is left out, because a load that
/// fails ends every rank. Collective.
bool Replay::is_whole(int64_t step, const char* otherwise) {
  const std::string fault = fault_of(session_, target_, step);
  if (!fault.empty() && session_.is_first())
    warn("step ", step, ": ", otherwise, ", as its checkpoint cannot be loaded: ", fault);
  return fault.empty();
}

/// Takes the digests of the last step from its checkpoint if the run has none.
void Replay::learn_last() {
  const int64_t last = target_.to;
  if (!target_.has_checkpoint(last)) return;
  if (session_.peers().largest(there_.digests.contains(last)) > 0) return;
  if (!is_whole(last, "its state is not compared")) return;
  rerun_.load(target_.checkpoint(last));
  state::take_digests(session_, rerun_.engine(), digests_);
  if (session_.is_first()) there_.digests[last] = recorded(rerun_.engine().plan(), digests_);
  rerun_.load(target_.checkpoint(target_.from));
}

/// Returns the steps of the first rank, on every rank.
std::vector<int64_t> Replay::shared(const std::vector<int64_t>& steps) const {
  std::string words;
  for (const int64_t step : steps) words += text(step, " ");
  words = session_.peers().share(words)[0];
  std::vector<int64_t> all;
  for (size_t i = 0, length = 0; i < words.size(); i += length + 1) {
    all.push_back(std::stoll(words.substr(i), &length));
  }
  return all;
}

/// Returns the steps whose states can be compared, the same on every rank.
std::vector<int64_t> Replay::digested_steps() const {
  std::vector<int64_t> steps;
  for (const auto& [step, digests] : there_.digests) steps.push_back(step);
  return shared(steps);
}

void Replay::learn_rejected() {
  std::vector<int64_t> steps;
  for (const auto& [step, there] : there_.steps)
    if (there.rejected) steps.push_back(step);
  rejected_ = shared(steps);
}

/// Takes the next step. Skips its update if the run has rejected it, whose later steps go on so.
kernels::StepReport Replay::take_step() {
  return rerun_.step(std::ranges::binary_search(rejected_, rerun_.done() + 1));
}

std::optional<Finding> Replay::find_up_to(int64_t end) {
  while (rerun_.done() < end) {
    std::optional<Finding> found = compare_step(take_step());
    if (found) return found;
    tell_progress();
  }
  return {};
}

/// Compares a step, and the states after it where the run has digests.
std::optional<Finding> Replay::compare_step(const kernels::StepReport& report) {
  Finding found{.step = report.step};
  const auto there = there_.steps.find(report.step);
  if (there != there_.steps.end()) found.words = difference_of(there->second, report);
  steps_ += there != there_.steps.end();
  const bool differs = session_.peers().largest(!found.words.empty()) > 0;
  if (session_.peers().largest(there_.digests.contains(report.step)) > 0)
    found.row = compare_state(report.step);
  if (!differs && found.row < 0) return {};
  return found;
}

/// Returns the first digest that differs, the same on every rank; -1 if none does.
int64_t Replay::compare_state(int64_t step) {
  state::take_digests(session_, rerun_.engine(), digests_);
  int64_t row = -1;
  session_.on_every_rank([&] {
    if (session_.is_first())
      row = first_difference(there_.digests.at(step), recorded(rerun_.engine().plan(), digests_));
  });
  ++states_;
  return session_.peers().largest(row);
}

std::string Replay::units_of(int64_t step, int64_t row) {
  if (!session_.is_first()) return "";
  return units_text(there_.digests.at(step), recorded(rerun_.engine().plan(), digests_), row);
}

/// Loads the newest checkpoint up to `good`, a step before which the run was right. Passes over
/// checkpoints that hold another state than the run had, by its digests.
void Replay::load_newest(int64_t good) {
  while (true) {
    const int64_t begin = target_.newest_checkpoint(good);
    rerun_.load(target_.checkpoint(begin));
    const bool is_known = session_.peers().largest(there_.digests.contains(begin)) > 0;
    if (!is_known || compare_state(begin) < 0) return;
    std::erase(target_.checkpoints, begin);
  }
}

/// Goes to a step by the shortest way: on from here, or from a checkpoint up to `good`.
void Replay::go_to(int64_t good, int64_t step) {
  if (rerun_.done() > step || rerun_.done() < target_.newest_checkpoint(good)) load_newest(good);
  while (rerun_.done() < step) take_step();
  ++replays_;
}

std::optional<Finding> Replay::find_by_halves() {
  const std::vector<int64_t> steps = digested_steps();
  session_.on_every_rank([&] {
    if (!steps.empty()) return;
    refuse(Exit::kUsage, target_.folder, ": has no digests of steps ", target_.from + 1, " to ",
           target_.to, " to go by - replay without --bisect, which compares losses; ",
           "run.digest_interval keeps digests");
  });
  replays_ = 0;
  int64_t good = target_.from;
  size_t begin = 0, end = steps.size();  // the first wrong one is among them, or none is
  std::optional<Finding> found;
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    go_to(good, steps[middle]);
    const int64_t row = compare_state(steps[middle]);
    tell_progress();
    if (row < 0) {
      good = steps[middle], begin = middle + 1;
      continue;
    }
    found = Finding{.step = steps[middle], .row = row, .words = units_of(steps[middle], row)};
    end = middle;
  }
  if (!found) return {};
  go_to(good, good);
  const std::optional<Finding> first = find_up_to(found->step);
  return first ? first : found;
}

void Replay::tell_progress() {
  const auto now = std::chrono::steady_clock::now();
  if (now - told_ < std::chrono::seconds(5)) return;
  told_ = now;
  console_.say(text("step ", rerun_.done(), " of ", target_.to, "\n"));
}

void Replay::conclude(std::optional<Finding> found) {
  const std::string taken =
      replays_ > 1 ? text(", found by ", counted(replays_, "replay")) : std::string();
  if (!found) {
    const bool has_last = there_.digests.contains(target_.to);
    console_.say(
        text("the same: steps ", target_.from + 1, " to ", target_.to, " of ", target_.folder, ", ",
             steps_, steps_ == 1 ? " loss and norm" : " losses and norms", ", states after ",
             counted(states_, "step"),
             has_last ? "" : "; nothing says what the state was after the last step", "\n"));
    return;
  }
  std::string units, values;
  if (found->row >= 0) {
    units = units_of(found->step, found->row);
    if (target_.has_checkpoint(found->step) && is_whole(found->step, "no values are compared")) {
      const state::UnitDigests::Row row = digests_.rows()[size_t(found->row)];
      values = values_text(session_, rerun_, row, target_.checkpoint(found->step));
    }
  }
  session_.on_every_rank([&] {
    if (!session_.is_first()) return;
    std::string words = found->words;
    for (const std::string& part : {units, values})
      if (!part.empty() && words != part) words += (words.empty() ? "" : "; ") + part;
    const std::string differs = text(target_.folder, ": step ", found->step,
                                     " differs from its replay", taken, ": ", words);
    const std::string causes = causes_up_to(found->step);
    if (!causes.empty())
      refuse(Exit::kUsage, differs, "; changed since, which may be why: ", causes,
             " - replay it with the settings, libraries and processors that it was trained with");
    refuse(Exit::kDevice, differs,
           " - replay it on another node, which tells which of both was wrong");
  });
}

}  // namespace

void replay(launch::Session& session, const train::Order& order, const Request& request) {
  session.on_every_rank([&] { require_free_keys(order.overrides); });
  Replay again(session, order, find_target(session, request));
  again.conclude(request.bisects ? again.find_by_halves() : again.find_in_order());
}

}  // namespace zero::replay
