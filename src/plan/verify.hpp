#pragma once

#include <string>
#include <utility>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Proves a plan safe, from its waits and extents alone (nothing the passes remembered):
///  - no two live buffers overlap; every operand lies in its buffer, every buffer in its arena
///  - every read sees the bytes of the op or the persistent buffer it names, and every conflicting
///    pair of accesses is ordered by lanes and waits (vector clocks), so every order that the
///    executor can take computes what the total order computes
///  - an op of the graph computes with the activations of its micro-batch that it names, wherever
///    these have been moved in between
///  - an op touches the tiers that its lane reaches
///  - waits point backwards in the total order, hence are acyclic
///  - persistent buffers still hold their own bytes at the end of each body
/// Returns what is wrong, first `limit` findings, each with the ops' and buffers' names; empty:
/// safe.
std::vector<std::string> verify(const Plan& plan, int limit = 10);

// Its parts.

/// What verify has found, up to a limit.
class Findings {
 public:
  explicit Findings(int limit) : limit_(size_t(limit)) {}
  template <class... Parts>
  void add(const Parts&... parts) {
    if (list_.size() < limit_) list_.push_back(text(parts...));
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  size_t limit_;
  std::vector<std::string> list_;
};

/// Finds buffers that share bytes while both are in use. A transient one is in use from the first
/// to the last op that names it. What rests between bodies always is, also where a body writes it
/// anew: the gaps between a unit's tensors stay zero. A copy (Buffer::copy_of) is not in use
/// between the last op that names it and the one that then fills it anew.
void check_apart(const Plan& plan, BodyId body, Findings& findings);

}  // namespace zero::plan
