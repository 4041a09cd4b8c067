#pragma once
/// What `ls` and `fsck` say of checkpoints.

#include <string>

#include "zero/train/checkpoint_survey.hpp"

namespace zero::commands {

/// The head of a table with a row for each step.
std::string step_header();
std::string step_row(const train::StepSurvey& step, train::SurveyDepth depth);
/// Where `latest` points, and what a resume would take and why.
std::string survey_end(const train::Survey& survey);

/// "step00001200: 3 files, 1.2 GiB: verified", or a line for each damaged file.
std::string step_verdict(const train::StepSurvey& step);

/// A line for everything there that is no checkpoint, and what becomes of it.
std::string leftover_lines(const train::Survey& survey);

/// All of it, as one JSON object.
std::string survey_json(const train::Survey& survey);

}  // namespace zero::commands
