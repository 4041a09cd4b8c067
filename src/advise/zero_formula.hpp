#pragma once

#include <cstdint>

#include "zero/plan/request.hpp"

namespace zero::advise {

/// Bytes a rank of the model states as the ZeRO paper counts them, to be read beside a plan's rows:
/// no padding, no buckets, no gathered units.
struct StateFormula {
  double weights = 0, gradients = 0, optimizer = 0;

  double total() const { return weights + gradients + optimizer; }
};

/// With P = parameters, N = ranks, g = 2 bytes (4 for fp32, or for the sum of several
/// micro-batches) and o = 10 (bf16), 12 (fp16) or 8 (fp32), w = 2 or 4. The bytes are: stage 0
/// (w+g+o)P, 1 (w+g)P + oP/N, 2 wP + (g+o)P/N, 3 (w+g+o)P/N. Source: Rajbhandari et al. 2020
/// (arXiv:1910.02054), section 5, with split master weights.
/// Frozen parameters, which are among these, have weights alone.
StateFormula state_formula(const plan::Request& request, int64_t parameters, int64_t frozen = 0);

/// Elements that one rank sends in a step, by verb. An all-reduce of stage 0 is a reduce-scatter
/// and an all-gather; both carry P (N-1)/N. With A micro-batches a rank: stages 0 and 1 reduce
/// once, stages 2 and 3 A times, and so do all stages in reproducible mode; stage 3 gathers up to
/// 2A times. Frozen parameters are only gathered, at stage 3.
struct TrafficFormula {
  double gathered = 0, reduced = 0;
};
TrafficFormula traffic_formula(const plan::Request& request, int64_t parameters,
                               int64_t frozen = 0);

}  // namespace zero::advise
