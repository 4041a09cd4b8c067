#pragma once
/// Texts of `ls` and `fsck` about checkpoints.

#include <string>

#include "zero/save/stored_checkpoints.hpp"

namespace zero::commands {

/// Returns the head of a table with a row for each step.
std::string step_header();
std::string step_row(const save::StepSurvey& step, save::SurveyDepth depth);
/// Returns the target of `latest`, and the step that a resume would take, with the reason.
std::string survey_end(const save::Survey& survey);

/// Returns "step00001200: 3 files, 1.2 GiB: verified", with "structure not compared" and the reason
/// if so. Returns a line for each problem of a damaged step.
std::string step_verdict(const save::StepSurvey& step);

/// Returns a line for each leftover that is no checkpoint, with its remedy.
std::string leftover_lines(const save::Survey& survey);

/// Returns the survey as one JSON object.
std::string survey_json(const save::Survey& survey);

}  // namespace zero::commands
