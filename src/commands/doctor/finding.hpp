#pragma once
/// What one probe of `zeroapp doctor` has found out on one rank.

#include <string>
#include <vector>

#include "zero/base/error.hpp"

namespace zero::commands {

enum class Verdict { good, warning, missing };
const char* name_of(Verdict verdict);

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

}  // namespace zero::commands
