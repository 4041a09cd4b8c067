#pragma once
/// What `ls` and `fsck` say of checkpoints.

#include <string>

#include "zero/save/stored_checkpoints.hpp"

namespace zero::commands {

/// The head of a table with a row for each step.
std::string step_header();
std::string step_row(const save::StepSurvey& step, save::SurveyDepth depth);
/// Where `latest` points, and what a resume would take and why.
std::string survey_end(const save::Survey& survey);

/// "step00001200: 3 files, 1.2 GiB: verified", with "structure not compared" and why where that is
/// so; or a line for each damaged file.
std::string step_verdict(const save::StepSurvey& step);

/// A line for everything there that is no checkpoint, and what becomes of it.
std::string leftover_lines(const save::Survey& survey);

/// All of it, as one JSON object.
std::string survey_json(const save::Survey& survey);

}  // namespace zero::commands
