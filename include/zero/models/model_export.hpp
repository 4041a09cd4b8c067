#pragma once

#include <string>

#include "zero/io/data/data_sets.hpp"
#include "zero/launch/peers.hpp"
#include "zero/models/model_description.hpp"
#include "zero/state/build.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {

/// The description of what a run trains.
ModelDescription describe_model(const RunConfig& config, const state::Build& build,
                                const DataSets& data);

/// Writes the weights as training multiplied with them, bit for bit, to a new model folder as
/// ModelWriter makes it. Rank 0 writes, in pieces of 4 MiB. `description.compute` is the plan's.
/// Throws Error(kIo) on rank 0 alone, in the middle of communication, if something has the name
/// already, or the disk is full. Collective.
void export_model(const state::StateView& view, const launch::Peers& peers,
                  const std::string& folder, const ModelDescription& description);

}  // namespace zero::models
