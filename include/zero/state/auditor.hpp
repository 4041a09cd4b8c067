#pragma once
/// Audits: each rank repeats a micro-batch of its right-hand neighbour, and both compare the bits
/// of its gradients. Any two ranks compute the same bits, so a difference is a fault of hardware.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zero/launch/session.hpp"
#include "zero/state/batch_loader.hpp"
#include "zero/state/engine.hpp"

namespace zero::state {

/// The sums of one unit's gradients in the first micro-batch of a rank, by two ranks or three.
struct AuditedSums {
  int64_t own = 0;                    ///< by the rank itself
  int64_t next = 0;                   ///< by the rank before it
  std::optional<int64_t> third = {};  ///< by the rank before that, if there are three
};

/// Returns how many ranks before the one of the micro-batch the rank is that two others contradict.
/// Nothing if no two agree, or if two ranks contradict each other.
std::optional<int> minority(const AuditedSums& sums);

/// A fault that an audit has found, the same on every rank.
struct AuditFinding {
  int speaker = 0;    ///< rank at fault, or one of those of which one is
  std::string node;   ///< node at fault; "" = not known
  std::string words;  ///< "rank 3 on node n2, device 1, computed other gradients of unit h.5 in
                      ///< step 120 than ranks 1 and 2, which agree"
};

/// An auditor of steps. REQUIRES: the plan of the engine audits.
class Auditor {
 public:
  /// REQUIRES: all arguments outlive it.
  Auditor(launch::Session& session, Engine& engine, const BatchLoader& loader, StepLoader& rows);

  /// Audits the last step, whose rows are still loaded. Returns nothing if ranks agree, and
  /// allocates nothing then. Collective. REQUIRES: loader.audits(step), and no body has run since.
  std::optional<AuditFinding> audit(int64_t step);

 private:
  /// A unit whose sums differ.
  struct Difference {
    int rank = 0;      ///< rank of the micro-batch
    size_t order = 0;  ///< index in order_
    int units = 0;     ///< units of that micro-batch whose sums differ
  };
  using AllSums = std::vector<std::string>;  ///< [ranks] bytes of sums_

  void repeat(int64_t step, int distance);
  std::string sums_text() const;
  AuditedSums sums_of(int rank, size_t order, const AllSums& seconds, const AllSums& thirds) const;
  Difference first_difference(const AllSums& seconds) const;
  AuditFinding explain(int64_t step);

  launch::Session& session_;
  Engine& engine_;
  const BatchLoader& loader_;
  StepLoader& rows_;
  std::vector<int32_t> order_;   ///< trained units, in the order in which backward completes them
  std::vector<int64_t> sums_;    ///< [2][units], as plan::Plan::audit_sums
  std::vector<uint64_t> apart_;  ///< [units] sums of both halves' differences over ranks
};

}  // namespace zero::state
