#pragma once

#include <string>
#include <vector>

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

}  // namespace zero::plan
