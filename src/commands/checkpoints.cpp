#include <algorithm>
#include <cstdio>

#include "src/commands/commands.hpp"
#include "src/commands/survey_text.hpp"
#include "zero/base/error.hpp"

namespace zero::commands {
namespace {

void require_verified(const save::Survey& survey) {
  const auto damaged = [](const save::StepSurvey& step) { return !step.verifies(); };
  const auto first = std::find_if(survey.steps.begin(), survey.steps.end(), damaged);
  const auto count = std::count_if(survey.steps.begin(), survey.steps.end(), damaged);
  if (survey.steps.empty()) refuse(Exit::kNoCheckpoint, survey.root, ": holds no checkpoint");
  if (count == 0) return;
  if (size_t(count) == survey.steps.size()) {
    refuse(Exit::kNoCheckpoint, survey.root,
           ": none of its checkpoints verifies: ", first->problems[0],
           first->newer_format ? "" : " - restore one from a copy");
  }
  refuse(Exit::kInput, survey.root, ": ", count, " of ", survey.steps.size(),
         " checkpoints do not verify: ", first->problems[0], " - restore or remove ", first->folder,
         "; a run goes on from another one");
}

/// Refuses checkpoints that verify, and that a run goes on from, where HDF5 may show something
/// else.
void require_structures(const save::Survey& survey) {
  const auto is_other = [](const save::StepSurvey& step) { return !step.other_structures.empty(); };
  const auto first = std::find_if(survey.steps.begin(), survey.steps.end(), is_other);
  if (first == survey.steps.end()) return;
  refuse(
      Exit::kInput, first->other_structures[0],
      " - zeroapp reads its tensors by the manifest, rightly; do not open it by other programs, ",
      "and export it to share it");
}

}  // namespace

int ls(const CommandLine& line) {
  const auto depth = line.quick ? save::SurveyDepth::manifests : save::SurveyDepth::blocks;
  bool begun = line.json;
  const auto on_step = [&](const save::StepSurvey& step) {
    if (!begun) std::fputs(step_header().c_str(), stdout);
    begun = true;
    if (!line.json) std::fputs(step_row(step, depth).c_str(), stdout);
  };
  const save::Survey survey = save::survey_checkpoints(line.input, depth, on_step);
  std::fputs((line.json ? survey_json(survey) : survey_end(survey)).c_str(), stdout);
  return 0;
}

int fsck(const CommandLine& line) {
  const auto on_step = [&](const save::StepSurvey& step) {
    if (!line.json) std::fputs(step_verdict(step).c_str(), stdout);
  };
  const save::Survey survey =
      save::survey_checkpoints(line.input, save::SurveyDepth::structures, on_step);
  std::fputs((line.json ? survey_json(survey) : leftover_lines(survey)).c_str(), stdout);
  std::fflush(stdout);
  require_verified(survey);
  require_structures(survey);
  return 0;
}

}  // namespace zero::commands
