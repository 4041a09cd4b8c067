#pragma once

#include "zero/model/objective.hpp"

namespace zero::model {

/// Returns the objective whose sample is a text with one of three tones. A head of its own reads
/// the first row of a decoder's trunk and puts out scores. It acts for files named *.tones.
const Objective& tone_objective();

/// Returns the objective whose sample is a text with a number, which the score is near to. It acts
/// for files named *.grades.
const Objective& grade_objective();

}  // namespace zero::model
