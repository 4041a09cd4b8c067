#pragma once

#include "zero/base/dtype.hpp"
#include "zero/model/family.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::commands {

/// The share of a machine's rates that a training step reaches: what its forecast would take by
/// them, over what some steps of `probe` take on this rank alone, with `threads`. Peaks are
/// those of large products and long streams; steps also hold attention, small products and
/// functions that memory does not wait for. 0 where a step would take longer than a second.
double measure_step_share(const model::Probe& probe, const plan::Machine& machine, int threads,
                          Dtype compute);

}  // namespace zero::commands
