#pragma once

#include <functional>
#include <string>
#include <vector>

#include "zero/base/error.hpp"

namespace zero::machine {

enum class Verdict { good, warning, missing };
const char* name_of(Verdict verdict);

/// What one probe has found out on one rank.
struct Finding {
  std::string subject;  ///< "huge pages": the same on every rank
  Verdict verdict = Verdict::good;
  std::string found;        ///< in words and numbers
  std::string advice = "";  ///< what to do; "" where nothing is to be done
  /// A measured number, which differs from rank to rank and is summed up over them; 0: none.
  double figure = 0;
  std::string unit = "";
  /// The status that training ends with because of it; kFinished: it goes on.
  Exit stops = Exit::kFinished;
};

using Findings = std::vector<Finding>;

/// What a rule of a run finds: its words where it passes; else what it refuses, `advice` or its
/// own, which it writes after " - ", and the status that training would end with.
Finding asked(const std::string& subject, const std::function<std::string()>& rule,
              const std::string& advice = "");

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

}  // namespace zero::machine
