#pragma once

#include <span>
#include <string>

#include "zero/io/files/output_file.hpp"
#include "zero/model/choice_scores.hpp"
#include "zero/model/label_scores.hpp"

namespace zero::commands {

/// Writes a header and a line for each sample, with tabs between: the predicted class, the label,
/// and the score of each class, before any softmax. Without classes these are the predicted number
/// and the label. Classes without names are numbered from 0; a sample without a label has "" there.
/// Numbers have as few digits as read back the same. Throws as OutputFile::write().
void write_scores(OutputFile& file, const model::LabelScores& scores,
                  std::span<const std::string> classes);

/// Writes a header and a line for each record of choices, with tabs between: the index of the
/// chosen choice, that of the answer, and the sum of log probabilities of each choice. Numbers are
/// as above. Throws as OutputFile::write().
void write_choices(OutputFile& file, std::span<const ScoredChoices> records,
                   std::span<const model::SampleScore> scores);

}  // namespace zero::commands
