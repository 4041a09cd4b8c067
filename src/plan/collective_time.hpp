#pragma once

#include <cstdint>

#include "zero/plan/forecast.hpp"

namespace zero::plan {

/// A collective as one rank sees it.
struct Sending {
  Kind kind = Kind::all_gather;
  int64_t ranks = 1;
  double bytes = 0;  ///< bytes sent to all other ranks, counted once for each
  int64_t element_bytes = 4;
};

/// Returns the seconds of a collective. On one node: a latency, plus the bytes over a rank's link.
/// After that latency, over M nodes of G ranks each (N = M G), with parts of p bytes per rank:
///   ring      M - 1 hops between nodes; each link, of a rank or at the border of a node,
///             carries N - 1 parts
///   tree      2 log2 M hops; each link carries all N parts up and down
///   exchange  one hop; each rank sends every other a part, so that G (N - G) parts leave a node
///   levels    one hop; G (M - 1) parts leave a node, sums in fp32; beside that each rank sends
///             M parts to the G - 1 others of its node
/// GPUs gather by the faster of NCCL's ring and tree, hosts in two levels or by an exchange.
/// Reduce-scatters use two levels or an exchange, which keep one order of terms at every number of
/// ranks. All-reduced words of p bytes go around a ring twice in N parts, or up and down a tree.
double collective_seconds(const Sending& sending, const Machine& machine);

}  // namespace zero::plan
