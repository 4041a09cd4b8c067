#include "src/commands/checkpoint_lists.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "src/commands/commands.hpp"
#include "src/commands/user_text.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/io/interop/json.hpp"

namespace zero::commands {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPathWidth = 400;

std::string row(const std::string& step, const std::string& written, const std::string& bytes,
                const std::string& ranks, const std::string& stage, const std::string& compute) {
  return format("%12s  %-19s  %12s  %5s  %5s  %-5s  ", step.c_str(), written.c_str(), bytes.c_str(),
                ranks.c_str(), stage.c_str(), compute.c_str());
}

std::string state_of(const save::StepSurvey& step, save::SurveyDepth depth) {
  if (!step.verifies()) return "DAMAGED: " + step.problems[0];
  const bool read = depth != save::SurveyDepth::manifests;
  const std::string streak =
      step.skipped > 0 ? text(", in a streak of ", counted(step.skipped, "skipped step")) : "";
  return text(read ? "verifies" : "complete, blocks not read",
              step.weights_only ? ", weights alone" : "",
              step.in_any_order ? ", attention fast: no other run gives these bytes" : "", streak);
}

Json optional_json(const std::optional<int64_t>& step) { return step ? Json(*step) : Json(); }

Json step_json(const save::StepSurvey& step) {
  return {{"step", step.step},
          {"folder", step.folder},
          {"written", step.written},
          {"bytes", step.bytes},
          {"files", step.files},
          {"ranks", step.ranks},
          {"stage", step.stage},
          {"compute", step.compute},
          {"verifies", step.verifies()},
          {"weights_only", step.weights_only},
          {"deterministic", !step.in_any_order},
          {"healthy", step.skipped == 0},
          {"structure_not_compared", step.not_compared},
          {"other_structures", step.other_structures},
          {"problems", step.problems}};
}

}  // namespace

std::string step_header() {
  return row("step", "written (UTC)", "bytes", "ranks", "stage", "type") + "state\n";
}

std::string step_row(const save::StepSurvey& step, save::SurveyDepth depth) {
  return row(std::to_string(step.step), step.written, bytes_text(double(step.bytes)),
             std::to_string(step.ranks), shown(step.stage), shown(step.compute)) +
         state_of(step, depth) + "\n";
}

std::string survey_end(const save::Survey& survey) {
  const auto step = [](const std::optional<int64_t>& number) {
    return number ? text("step ", *number) : std::string("nothing");
  };
  return text("latest points at ", step(survey.latest), "\na run goes on from ",
              step(survey.resume), ": ", survey.why, "\n");
}

std::string step_verdict(const save::StepSurvey& step) {
  std::string lines;
  for (const std::string& other : step.other_structures)
    lines += "OTHER STRUCTURE: " + other + "\n";
  if (step.verifies()) {
    return lines +
           text(step.folder, ": ", counted(int64_t(step.files), "file"), ", ",
                bytes_text(double(step.bytes)), ": verified",
                step.not_compared.empty() ? "" : ", structure not compared: " + step.not_compared,
                "\n");
  }
  for (const std::string& problem : step.problems) lines += text("DAMAGED: ", problem, "\n");
  return lines;
}

std::string leftover_lines(const save::Survey& survey) {
  std::string lines;
  for (const save::Leftover& left : survey.leftovers) {
    // Foreign names may hold any bytes.
    const std::string path = escaped_text(left.path, kPathWidth);
    lines += text("LEFTOVER: ", path, ": ", left.what, " - ", left.remedy, "\n");
  }
  return lines;
}

std::string survey_json(const save::Survey& survey) {
  Json json = {{"root", survey.root},
               {"latest", optional_json(survey.latest)},
               {"resume", optional_json(survey.resume)},
               {"why", survey.why},
               {"steps", Json::array()}};
  for (const save::StepSurvey& step : survey.steps) json["steps"].push_back(step_json(step));
  json["leftovers"] = Json::array();
  for (const auto& [path, what, remedy] : survey.leftovers) {
    json["leftovers"].push_back({{"path", path}, {"what", what}, {"remedy", remedy}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

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

/// Refuses checkpoints that verify, and that a run goes on from, if HDF5 may show other tensors.
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

namespace {

/// Refuses a folder without any sign of a run or a save.
void require_run(const std::string& folder, const save::Survey& survey) {
  if (!survey.steps.empty() || survey.latest || survey.root != folder) return;
  for (const char* name : {"/effective.toml", "/LOCK"}) {
    if (is_there(folder + name)) return;
  }
  refuse(Exit::kNoCheckpoint, folder, ": is the folder of no run, and holds no checkpoint; name ",
         "the folder of a run, of checkpoints or of one of them");
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
  require_run(line.input, survey);
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
