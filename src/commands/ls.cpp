#include "src/commands/ls.hpp"

#include <cstdio>

#include "src/commands/survey_text.hpp"

namespace zero::commands {

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

}  // namespace zero::commands
