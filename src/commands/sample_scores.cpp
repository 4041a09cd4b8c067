#include "src/commands/sample_scores.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "zero/base/text.hpp"

namespace zero::commands {
namespace {

constexpr size_t kPieceBytes = size_t(1) << 16;

template <class Number>
std::string shortest(Number number) {
  char digits[32];
  return {digits, std::to_chars(digits, std::end(digits), number).ptr};
}

/// Returns the name of a class as a field of a line.
std::string name_of(std::span<const std::string> classes, int64_t index) {
  if (index < 0) return "";
  if (index >= int64_t(classes.size())) return text(index);
  std::string name = classes[size_t(index)];
  std::ranges::replace_if(
      name, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return name;
}

std::string header(const model::LabelScores& scores, std::span<const std::string> classes) {
  std::string line = "predicted\tlabel";
  for (int64_t i = 0; scores.labels > 1 && i < scores.labels; ++i)
    line += "\tscore of " + name_of(classes, i);
  return line + "\n";
}

void append_line(std::string& lines, const model::LabelScores& scores, int64_t sample,
                 std::span<const std::string> classes) {
  const std::span<const float> row = scores.of(sample);
  const double truth = scores.truths[size_t(sample)];
  const bool is_labelled = !std::isnan(truth);
  if (scores.labels == 1) {
    lines += shortest(row[0]) + "\t" + (is_labelled ? shortest(truth) : "") + "\n";
    return;
  }
  lines += name_of(classes, model::chosen_class(row)) + "\t" +
           name_of(classes, is_labelled ? int64_t(truth) : -1);
  for (const float score : row) lines += "\t" + shortest(score);
  lines += "\n";
}

}  // namespace

void write_scores(OutputFile& file, const model::LabelScores& scores,
                  std::span<const std::string> classes) {
  std::string lines = header(scores, classes);
  for (int64_t sample = 0; sample < scores.samples(); ++sample) {
    append_line(lines, scores, sample, classes);
    if (lines.size() < kPieceBytes) continue;
    file.write(lines);
    lines.clear();
  }
  file.write(lines);
}

void write_choices(OutputFile& file, std::span<const ScoredChoices> records,
                   std::span<const model::SampleScore> scores) {
  std::string lines = "chosen\tanswer\tscore of each choice\n";
  for (const ScoredChoices& record : records) {
    const auto own = scores.subspan(size_t(record.first), record.bytes.size());
    const auto best = std::ranges::max_element(own, {}, &model::SampleScore::sum);
    lines += text(best - own.begin(), '\t', record.answer);
    for (const model::SampleScore& score : own) lines += "\t" + shortest(score.sum);
    lines += "\n";
    if (lines.size() < kPieceBytes) continue;
    file.write(lines);
    lines.clear();
  }
  file.write(lines);
}

}  // namespace zero::commands
