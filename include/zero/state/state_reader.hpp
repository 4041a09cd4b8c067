#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "zero/launch/peers.hpp"
#include "zero/state/state_view.hpp"

namespace zero::state {

/// Parameter indices in the order of their names.
std::vector<int32_t> parameters_by_name(const graph::Graph& graph);

/// Where a parameter lies, without padding.
struct Located {
  const plan::Unit* unit;
  UnitRange range;
};
Located locate(const plan::Plan& plan, int32_t parameter);

/// Joins one state of one parameter, without padding, on rank 0 from the ranks that hold it, in
/// pieces of at most 4 MiB in the order of its elements: `visit` sees each piece there and nothing
/// elsewhere. Collective: all ranks ask for the same parameters in the same order.
void join_state(const StateView& view, const launch::Peers& peers, StateKind kind,
                int32_t parameter, const std::function<void(std::span<const float>)>& visit);

}  // namespace zero::state
