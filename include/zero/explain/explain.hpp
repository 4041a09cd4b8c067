#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/model/family.hpp"

namespace zero::explain {

/// The effect of a change on the bytes that are trained.
enum class SameBytes { yes, no, batch_changes };

/// A change of settings, compiled and forecast.
struct Trial {
  std::vector<std::string> settings;  ///< "zero.stage=2", as they are typed
  double gain = 0;                    ///< of tokens a second; 0.12 = 12 % more
  double more_bytes = 0;              ///< that a rank needs more, as the limit counts
  SameBytes same_bytes = SameBytes::yes;
  bool fits = false;
  std::string refused = {};  ///< reason for which the settings cannot work; the rest is then void
};

/// The part of a machine without which a step would be the shortest.
struct Bottleneck {
  std::string part;
  double share = 0;  ///< of the step that would go
};

/// A run's step, and what would make it faster.
struct Explanation {
  std::string run;
  bool is_live = false;
  int64_t ranks = 1;
  int64_t steps = 0;            ///< measured ones
  double step_seconds = 0;      ///< measured, middle
  double units_per_second = 0;  ///< of all ranks
  std::string unit = {};        ///< what is counted, in the plural
  double forecast_seconds = 0;  ///< of the run's own plan, by the fitted rates
  bool has_kinds = false;       ///< true: rates are fitted to each kind of op, else to phases
  std::string limit = {};       ///< what decides whether a change fits
  Bottleneck bottleneck = {};
  std::vector<Trial> advice = {};  ///< best first; those that change the batch come last
  std::vector<Trial> others = {};  ///< tried, but no better, too large or refused
};

/// Explains a run by its files alone. A GPU's run may be explained anywhere. Throws Error(kInput)
/// for what is missing or damaged, and the errors of read_config().
Explanation explain(const model::Catalogue& catalogue, const std::string& run);

/// Returns the explanation in lines, with what is no better if `all`.
std::string text_of(const Explanation& explanation, bool all);
/// Returns it as one JSON object.
std::string json_of(const Explanation& explanation);

}  // namespace zero::explain
