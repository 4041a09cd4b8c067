#pragma once

#include "zero/model/objective.hpp"

namespace zero::model {

/// Returns the objective whose sample is a text with a label. A head of its own stands on the trunk
/// of a decoder and reads the row of the last byte. It acts for files named *.labels.
const Objective& label_objective();

}  // namespace zero::model
