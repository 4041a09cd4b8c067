#include "src/commands/survey_text.hpp"

#include <nlohmann/json.hpp>

#include "src/commands/escaped_text.hpp"
#include "zero/base/error.hpp"
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
    // Names of others may hold anything.
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

}  // namespace zero::commands
