#pragma once

#include "zero/model/objective.hpp"

namespace zero::model {

/// Returns the objective whose sample is a text with a mood. A head of its own stands on the trunk
/// of a decoder and reads the row of the last byte. It acts for files named *.moods.
const Objective& mood_objective();

}  // namespace zero::model
