#pragma once

#include <array>
#include <functional>
#include <vector>

#include "zero/graph/graph.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/request.hpp"

namespace zero::plan {

/// A function that a compile calls between its passes, and while it packs. An exception from it
/// ends the compile. May be empty.
using Interrupt = std::function<void()>;

/// Compiles and verifies a plan. `training` and `evaluation` are graphs of micro-batches. Calls
/// `interrupt` between passes. Without ops in `evaluation` the plan has no evaluate body. Throws
/// Error(kInternal) if verify() reports a finding, Error(kUsage) if the request cannot work.
Plan compile(const Request& request, const graph::Graph& training, const graph::Graph& evaluation,
             const Interrupt& interrupt = {});

/// Adds to `plan` forms for micro-batches of shorter samples (Plan::shorter): their training graphs
/// [0] and evaluation graphs [1], shortest first. Addresses, waits and collectives stay. Verifies
/// again. Throws Error(kInternal) if a form does other work than the longest. Also throws it if
/// activations have a home beside the device, because their transfers move the bytes of the
/// longest.
void add_forms(Plan& plan, std::array<std::vector<graph::Graph>, 2> shorter);

/// Compiles and verifies a plan that continues texts: weights as compile() places them, and caches
/// that both bodies share. At stage 0 a single rank holds whole weights. At stage 3 each rank holds
/// its shards at their home, and all ranks run each body together. The graph `token` has a token of
/// each text, the graph `chunk` a chunk of tokens; both have equal parameters and context. Throws
/// Error(kInternal) if they differ or for another stage, and the errors of compile().
Plan compile_decode(const Request& request, const graph::Graph& token, const graph::Graph& chunk);

/// Least number of staged units, if memory holds them.
inline constexpr int kLeastStagedUnits = 4;

/// Returns the Request::staged_units for a plan of this request and graph: the fewest within 5 % of
/// the shortest step forecast on `machine`. Tries nine depths from kLeastStagedUnits to three
/// quarters of all units. More units are not always better, because reads then crowd into backward.
/// An unmeasured disk is assumed to take as long as compute, where depth matters most.
int staged_units_for(const Request& request, const graph::Graph& training, const Machine& machine);

/// Returns the Request::device_update_share for a plan of this request and graph. It is the least
/// within 2 % of the shortest step forecast on `machine`. Tries kDeviceUpdateParts + 1 shares from
/// none to all. The host's Adam moves two bytes of gradient and two of weight over the link and
/// uses host memory. An update on the device moves all states and leaves host memory idle. 0 if no
/// states have a home beside the device, or if the device is the host, whose cores would do both.
double device_update_share_for(const Request& request, const graph::Graph& training,
                               const Machine& machine);
/// Number of equal parts into which searches divide a share of units.
inline constexpr int kDeviceUpdateParts = 8;

/// The shares of units with states beside the device. The device updates the first share. Among the
/// other units, the host updates the second share before the norm is known. See Request.
struct UpdateShares {
  double on_device = 0, speculated = 0;
};

/// True if a plan of this request can update a unit before the norm is known. It needs states in
/// host memory, weights on the device, and an optimizer without norms.
bool can_speculate(const Request& request);

/// Returns the shares for a plan of this request and graph, in steps of 1 / kDeviceUpdateParts.
/// They have the shortest step forecast on `machine` that speculates. Among those within 2 % of it,
/// they have the fewest speculated units, at least one. The search varies one share at a time. Both
/// are 0 unless can_speculate().
UpdateShares speculated_shares_for(const Request& request, const graph::Graph& training,
                                   const Machine& machine);

}  // namespace zero::plan
