#pragma once
/// What this rank's slice of a unit consists of.

#include <vector>

#include "zero/graph/graph.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/plan/plan.hpp"

namespace zero::run {

/// Elements [begin, begin + numel) of a unit.
struct UnitSlice {
  const plan::Unit& unit;
  int64_t begin;
  int64_t numel;
};

/// Each tensor's part of the slice, relative to the slice, with `decay` where the parameter decays;
/// `tensor` counts the unit's placements. Gaps belong to no segment.
std::vector<kernels::TensorSegment> tensor_segments(const graph::Graph& graph,
                                                    const UnitSlice& slice, float decay);

/// The same with tensors that touch and decay alike joined.
std::vector<kernels::OptimizerSegment> joined_segments(const graph::Graph& graph,
                                                       const UnitSlice& slice, float decay);

}  // namespace zero::run
