#pragma once

#include <cstdint>

#include "zero/plan/request.hpp"

namespace zero::advise {

/// The bytes per rank of model states in the ZeRO paper, for comparison with a plan: no padding, no
/// buckets, no gathered units.
struct StateFormula {
  double weights = 0, gradients = 0, optimizer = 0;

  double total() const { return weights + gradients + optimizer; }
};

/// Returns the bytes with P = parameters and N = ranks. g = 2 (4 for fp32, or for the sum of
/// several micro-batches), o = 10 (bf16), 12 (fp16) or 8 (fp32), and w = 2 or 4. Stage 0: (w+g+o)P,
/// 1: (w+g)P + oP/N, 2: wP + (g+o)P/N, 3: (w+g+o)P/N. With groups of k ranks stage 3 has wP/k and
/// g = 4. `frozen` of the parameters have only weights.
/// Source: Rajbhandari et al. 2020 (arXiv:1910.02054), section 5, with split master weights.
StateFormula state_formula(const plan::Request& request, int64_t parameters, int64_t frozen = 0);

/// The elements that a rank sends in a step, by verb. An all-reduce of stage 0 is a reduce-scatter
/// and an all-gather; both carry P (N-1)/N. With A micro-batches per rank, stages 0 and 1 reduce
/// once. Stages 2 and 3, and all stages in reproducible mode, reduce A times. Stage 3 gathers up to
/// 2A times. Frozen parameters are only gathered, at stage 3. With R groups of k ranks the same
/// holds for a group, and P/k (R-1)/R crosses between groups once a step in each direction.
struct TrafficFormula {
  double gathered = 0, reduced = 0;
};
TrafficFormula traffic_formula(const plan::Request& request, int64_t parameters,
                               int64_t frozen = 0);

}  // namespace zero::advise
