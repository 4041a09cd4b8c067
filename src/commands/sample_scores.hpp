#pragma once

#include <span>
#include <string>

#include "zero/io/files/output_file.hpp"
#include "zero/model/label_scores.hpp"

namespace zero::commands {

/// Writes a header and a line for each sample, with tabs between: the predicted class, the label,
/// and the score of each class, before any softmax. Without classes these are the predicted number
/// and the label. Classes without names are numbered from 0; a sample without a label has "" there.
/// Numbers have as few digits as read back the same. Throws as OutputFile::write().
void write_scores(OutputFile& file, const model::LabelScores& scores,
                  std::span<const std::string> classes);

}  // namespace zero::commands
