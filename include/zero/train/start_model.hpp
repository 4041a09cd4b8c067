#pragma once

#include <memory>
#include <optional>
#include <string>

#include "zero/config/read_config.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::train {

/// A model that a run begins with under model.init_from.
struct StartModel {
  std::string own = {};    ///< the newest checkpoint of the run itself, from which it goes on
  std::string other = {};  ///< else the model or checkpoint that is meant
  bool is_found = false;   ///< both are known, as the first rank has told
  std::unique_ptr<models::StoredModel> opened = {};  ///< of `other`
};

/// Returns the numbers of that model. Finds it first unless that is done. None where a run of these
/// settings begins with no other one, or where it is not there. Throws as open_model().
std::optional<StartNumbers> start_numbers(const model::Catalogue& catalogue,
                                          const RunConfig& config, StartModel& start);

/// Returns start_numbers() for read_config(). Views both.
StartReader start_reader(const model::Catalogue& catalogue, StartModel& start);

}  // namespace zero::train
