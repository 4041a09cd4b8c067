#pragma once

#include <memory>
#include <optional>
#include <string>

#include "zero/config/read_config.hpp"
#include "zero/stored/stored_model.hpp"

namespace zero::train {

/// A model that a run begins with under model.init_from.
struct StartModel {
  std::string own = {};    ///< the run's newest checkpoint, if it goes on, or ""
  std::string other = {};  ///< else the model or checkpoint of model.init_from
  bool is_found = false;   ///< true once the first rank has shared both
  std::unique_ptr<stored::StoredModel> opened = {};  ///< opened from `other`
};

/// Returns the numbers of the model that a run of `config` begins with. Finds it in `start` unless
/// start.is_found. Returns none if the settings name no model, or if none is there. Throws as
/// open_model().
std::optional<StartNumbers> start_numbers(const model::Catalogue& catalogue,
                                          const RunConfig& config, StartModel& start);

/// Returns start_numbers() as a function for read_config(). Views both arguments.
StartReader start_reader(const model::Catalogue& catalogue, StartModel& start);

}  // namespace zero::train
