#pragma once

#include <memory>
#include <optional>

#include "zero/config/read_config.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::train {

/// Returns the numbers of the model that a run of these settings begins with under model.init_from:
/// where the run goes on from checkpoints of its own, the newest one's; else those of the model
/// there, which `opened` gets. None where there is neither. Throws as open_model().
std::optional<StartNumbers> start_numbers(const model::Catalogue& catalogue,
                                          const RunConfig& config,
                                          std::unique_ptr<models::StoredModel>& opened);

}  // namespace zero::train
