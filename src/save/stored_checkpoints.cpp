#include "zero/save/stored_checkpoints.hpp"

#include <sys/stat.h>

#include <ctime>
#include <vector>

#include "src/save/checkpoint_streaks.hpp"
#include "src/save/fact_rules.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/save/missing_checkpoint.hpp"

namespace zero::save {
namespace {

using checkpoint::Manifest;
using checkpoint::Store;

/// Maximum problems that are listed for one step.
constexpr size_t kProblemsMost = 1000;

std::string utc_text(std::time_t time) {
  std::tm parts{};
  char word[32];
  if (!gmtime_r(&time, &parts) || !std::strftime(word, sizeof word, "%F %T", &parts)) return "";
  return word;
}

/// Returns the time of a step's last file, the manifest.
std::string written_at(const std::string& folder) {
  struct stat status {};
  const std::string manifest = folder + "/" + checkpoint::kManifestName;
  return stat(manifest.c_str(), &status) == 0 ? utc_text(status.st_mtime) : "";
}

void describe(const Manifest& manifest, StepSurvey& step) {
  const auto fact = [&](const char* name) {
    const auto found = manifest.facts.find(name);
    return found == manifest.facts.end() ? std::string() : found->second;
  };
  step.files = manifest.files.size();
  for (const checkpoint::File& file : manifest.files) step.bytes += file.bytes;
  step.ranks = manifest.ranks;
  step.stage = fact("stage");
  step.compute = fact("compute");
  step.weights_only = is_weights_only(manifest.facts);
  step.in_any_order = adds_in_any_order(manifest.facts);
  step.skipped = streak_in(manifest).skipped;
}

/// Notes the problem that `work` finds in a step. Throws if something cannot be read.
template <class Work>
void note_problem(StepSurvey& step, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.exit() == Exit::kIo) throw;
    step.newer_format |= error.exit() == Exit::kNoCheckpoint;
    step.problems.push_back(error.what());
  }
}

/// Compares the structure of a file whose digests hold.
void compare(int folder, const Manifest& manifest, const checkpoint::File& file, StepSurvey& step) {
  try {
    const std::string why = compare_structure(folder, step.folder, manifest, file);
    if (!why.empty()) step.not_compared = why;
  } catch (const Error& error) {
    if (error.exit() != Exit::kInput) throw;
    step.other_structures.push_back(error.what());
  }
}

StepSurvey survey_step(const Store& store, int64_t number, SurveyDepth depth) {
  StepSurvey step;
  step.step = number;
  step.folder = store.root() + "/" + Store::folder_of(number);
  step.written = written_at(step.folder);
  note_problem(step, [&] {
    const OpenFile folder = store.open_step(number);
    const Manifest manifest = read_fit_manifest(store, folder.descriptor(), number);
    describe(manifest, step);
    if (depth != SurveyDepth::structures) step.not_compared = "only fsck does";
    const checkpoint::DigestForm digests = digest_form(manifest);
    for (const checkpoint::File& file : manifest.files) {
      if (step.problems.size() == kProblemsMost) {
        step.problems.push_back("and more, at which nobody has looked");
        return;
      }
      note_problem(step, [&] {
        checkpoint::ShardReader reader(folder.descriptor(), step.folder, file, digests);
        if (depth != SurveyDepth::manifests) reader.verify();
      });
      if (depth == SurveyDepth::structures && step.verifies()) {
        compare(folder.descriptor(), manifest, file, step);
      }
    }
  });
  return step;
}

/// Says what a resume with the same settings does if `newest` lies in a streak.
void leave_streak(const StepSurvey& newest, Survey& survey) {
  std::vector<StreakMark> marks;
  for (const StepSurvey& step : survey.steps) {
    if (!step.verifies() || step.step > newest.step) continue;
    marks.push_back({.step = step.step, .skipped = step.skipped});
  }
  survey.why =
      text("step ", newest.step, " lies in a streak of ", counted(newest.skipped, "skipped step"));
  const std::optional<int64_t> before = before_streak(marks);
  survey.resume = before.value_or(newest.step);
  survey.why += before ? ", which another learning rate, clipping or data may end"
                       : ", and there is no healthy one";
}

/// Chooses the step of a resume, which tries the newest first.
void choose(Survey& survey) {
  const StepSurvey* passed_over = nullptr;
  for (auto step = survey.steps.rbegin(); step != survey.steps.rend(); ++step) {
    const std::string name = text("step ", step->step);
    if (step->newer_format) {
      survey.why = name + " was written by a newer release";
      return;
    }
    if (!step->verifies()) {
      if (!passed_over) passed_over = &*step;
      continue;
    }
    if (step->weights_only) {
      survey.why = name + " holds weights alone, which model.init_from takes";
      return;
    }
    survey.resume = step->step;
    survey.why =
        passed_over ? text("step ", passed_over->step, " does not verify") : "it is the newest";
    if (step->skipped > 0) leave_streak(*step, survey);
    return;
  }
  survey.why = passed_over ? "none of them verifies: it would end with status 4"
                           : "there are none: it would begin anew";
}

/// Returns a whole manifest whose files exist.
Manifest verified(const Store& store, int64_t step) {
  Manifest manifest = store.verify(step, false);
  require_facts_fit(manifest, manifest_path(store, step));
  return manifest;
}

}  // namespace

void warn_passed_over(int64_t step, const std::string& problem) {
  warn("step ", step, " does not verify and is passed over: ", problem);
}

bool holds_checkpoints(const std::string& folder) {
  const CheckpointFolder place = find_checkpoints(folder);
  if (!is_folder(place.root)) return false;
  return place.step || !Store({.root = place.root}).steps().empty();
}

StoredCheckpoint::StoredCheckpoint(const std::string& folder) {
  const CheckpointFolder place = find_checkpoints(folder);
  if (!is_folder(place.step ? folder : place.root)) {
    refuse(Exit::kInput, no_folder_text(folder));
  }
  store_ = std::make_unique<Store>(Store::Options{.root = place.root});
  if (place.step) {
    manifest_ = verified(*store_, *place.step);
  } else {
    open_newest(folder);
  }
  folder_ = place.root + "/" + Store::folder_of(manifest_.step);
  tensors_ = std::make_unique<checkpoint::TensorReader>(*store_, manifest_);
}

void StoredCheckpoint::open_newest(const std::string& folder) {
  const std::vector<int64_t> steps = store_->steps();
  if (steps.empty()) {
    refuse(Exit::kInput, folder, ": holds no checkpoint - name a run that has saved one, a folder ",
           "of checkpoints, or one of them");
  }
  std::string problem;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    try {
      manifest_ = verified(*store_, *step);
      return;
    } catch (const Error& error) {
      if (error.exit() != Exit::kInput) throw;
      warn_passed_over(*step, error.what());
      if (step == steps.rbegin()) problem = error.what();
    }
  }
  refuse(Exit::kInput, folder, ": holds no whole checkpoint: ", problem);
}

const std::string& StoredCheckpoint::fact(const std::string& name) const {
  static const std::string kNothing;
  const auto found = manifest_.facts.find(name);
  return found == manifest_.facts.end() ? kNothing : found->second;
}

Survey survey_checkpoints(const std::string& folder, SurveyDepth depth,
                          const std::function<void(const StepSurvey&)>& on_step) {
  const CheckpointFolder place = find_checkpoints(folder);
  if (!is_folder(place.step ? folder : place.root)) {
    refuse(Exit::kInput, no_folder_text(folder));
  }
  const Store store({.root = place.root});
  const std::vector<int64_t> steps = place.step ? std::vector{*place.step} : store.steps();
  Survey survey{.root = place.root,
                .steps = {},
                .latest = store.latest(),
                .resume = {},
                .why = "",
                .leftovers = {}};
  for (const int64_t step : steps) {
    survey.steps.push_back(survey_step(store, step, depth));
    on_step(survey.steps.back());
  }
  choose(survey);
  if (!place.step && store.has_lost_all()) {
    survey.why = "latest is all that is left of them: it would end with status 4";
  }
  if (place.step) return survey;
  for (auto& [name, what, remedy] : store.leftovers()) {
    survey.leftovers.push_back({place.root + "/" + name, what, remedy});
  }
  return survey;
}

}  // namespace zero::save
