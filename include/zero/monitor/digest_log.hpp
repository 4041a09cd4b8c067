#pragma once

#include <cstdint>
#include <string>

#include "zero/monitor/run_log.hpp"
#include "zero/state/unit_digests.hpp"

namespace zero::monitor {

inline constexpr const char* kDigestsName = "digests.jsonl";

/// Appends the digests of the state after `step` to `lines`: {"step": 40, "unit": "h.0", "weights":
/// "0123456789abcdef", "momentum": ...} for each unit of `plan`.
void append_digests(std::string& lines, int64_t step, const plan::Plan& plan,
                    const state::UnitDigests& digests);

/// The digests of a run on rank 0, <folder>/digests.jsonl: a line of step 0 with their form, then
/// the lines of each step's units in one write. A full disk costs one warning and no training.
class DigestLog {
 public:
  /// Opens the file in `folder`. Keeps the lines of an earlier launch up to step `done`. Throws
  /// Error(kIo).
  DigestLog(const std::string& folder, int64_t done);

  /// Writes the lines of append_digests() to the file, for the state after `step`.
  void add(int64_t step, const plan::Plan& plan, const state::UnitDigests& digests);

 private:
  StepLines file_;
  std::string lines_;  ///< next lines; keep their capacity
};

}  // namespace zero::monitor
