#pragma once

#include "zero/plan/forecast.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

/// One collective of a rank.
struct Sending {
  Kind kind = Kind::all_gather;
  int64_t ranks = 1;
  double bytes = 0;  ///< that the rank sends to all others, once for each of them
};

/// Seconds that it takes. On one node: a latency, and the bytes over the link of a rank. Over M
/// nodes of G ranks each (N = M G), with parts of p bytes of each rank, after that latency:
///   ring      M - 1 hops between nodes; each link, that of a rank and at a node's border that of
///             its node, carries N - 1 parts
///   tree      2 log2 M hops; each link carries all N parts up and down
///   exchange  one hop; each rank sends every other a part, so that G (N - G) parts leave a node
/// GPUs gather by NCCL's ring or tree, whichever is faster, hosts by an exchange. Sums are made of
/// an exchange everywhere, as they keep one order of terms at every number of ranks. Words of p
/// bytes are summed by a ring, twice around in N parts, or up and down a tree.
double collective_seconds(const Sending& sending, const Machine& machine);

}  // namespace zero::plan
