#pragma once

#include <array>
#include <functional>
#include <vector>

#include "zero/graph/graph.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/request.hpp"

namespace zero::plan {

/// Called at short intervals of a compile, which ends by what it throws. May be empty.
using Interrupt = std::function<void()>;

/// Compiles and verifies. `evaluation` may be empty (no ops): then there is no evaluate body.
/// Throws Error(kInternal) if verify finds anything, Error(kUsage) where the request cannot work.
Plan compile(const Request& request, const graph::Graph& training, const graph::Graph& evaluation,
             const Interrupt& interrupt = {});

/// What micro-batches of shorter samples run: the training and the evaluation graph of each of a
/// few forms, from the shortest on (Plan::shorter). No address, wait or collective changes.
/// Verifies anew. Throws Error(kInternal) where a form is other work than the longest, or where
/// activations rest beside the device, whose transfers move the bytes of the longest.
void add_forms(Plan& plan, std::array<std::vector<graph::Graph>, 2> shorter);

/// Compiles and verifies a plan that continues texts: weights alone, as compile() lays them out,
/// and caches that both bodies share. At stage 0 one rank holds the weights whole; at stage 3 each
/// of any number of ranks holds its shards at their home, and all run each body together. The
/// graphs are of a token a text and of a chunk, with the same parameters and the same context.
/// Throws Error(kInternal) where they differ, or for another stage, and as compile().
Plan compile_decode(const Request& request, const graph::Graph& token, const graph::Graph& chunk);

/// At least so many units have their states on their way, where memory holds them.
inline constexpr int kLeastStagedUnits = 4;

/// The fewest Request::staged_units, of nine tried from kLeastStagedUnits to three quarters of all,
/// with which a step takes by forecast at most 5 % longer than with the best of them: with too
/// many, reads crowd into backward. A disk that nobody has measured is assumed to take as long as
/// compute, where depth matters most.
int staged_units_for(const Request& request, const graph::Graph& training, const Machine& machine);

/// The least share (Request::device_update_share), of kDeviceUpdateParts + 1 tried from none to
/// all, with which a step takes by forecast at most 2 % longer than with the best of them. The
/// host's Adam has two bytes of gradient and two of weight cross and reads its memory; an update on
/// the device has all states cross, and the host's memory idle. None where no states rest beside
/// the device, and where the device is the host, whose cores would do both.
double device_update_share_for(const Request& request, const graph::Graph& training,
                               const Machine& machine);
inline constexpr int kDeviceUpdateParts = 8;

/// Two shares of the units whose states rest elsewhere: those that the device updates, and those of
/// the rest that the host updates before the norm is known. See Request.
struct UpdateShares {
  double on_device = 0, speculated = 0;
};

/// True if a unit of such a plan can be updated before the norm is known: states in host memory,
/// weights on the device, an optimizer without norms.
bool can_speculate(const Request& request);

/// The shares with which a step is the shortest by forecast where units are updated before the norm
/// is known, of kDeviceUpdateParts parts each; of speculated units the fewest within 2 % of that,
/// and at least one. Found by turns, one share at a time. None where can_speculate() says no.
UpdateShares speculated_shares_for(const Request& request, const graph::Graph& training,
                                   const Machine& machine);

}  // namespace zero::plan
