#pragma once

#include <string>
#include <vector>

#include "src/commands/doctor/finding.hpp"

namespace zero::commands {

/// The findings of one rank as text for rank 0, and back.
std::string pack_findings(const Findings& findings);
Findings unpack_findings(const std::string& text);

/// What ranks have found about one subject, as one or more lines: ranks that found the same share
/// one. Figures become the least and most of a rank and the sum of all.
struct Line {
  Finding finding;
  std::vector<int> ranks;
};

/// `ranks` holds each rank's findings; a subject that only some have is theirs alone. In the order
/// in which subjects first appear, the verdict of rank 0 first.
std::vector<Line> join_findings(const std::vector<Findings>& ranks);

/// One line a finding, its advice below, and at the end how many are good, warnings and missing.
std::string doctor_table(const std::vector<Line>& lines, int ranks);
/// The same as one JSON object.
std::string doctor_json(const std::vector<Line>& lines, int ranks);

/// The status of the first finding that stops training; kFinished without any.
Exit status_of(const std::vector<Line>& lines);

}  // namespace zero::commands
