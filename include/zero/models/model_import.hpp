#pragma once

#include <string>

#include "zero/models/stored_model.hpp"

namespace zero::models {

/// Writes a model as the checkpoint of step 0 in a new folder of checkpoints, by the commit
/// protocol and in pieces of 4 MiB: weights alone, each parameter in the type that it is stored in.
/// `program` is what the checkpoint says it was built by. Throws Error(kIo) where something has the
/// name already; after any error nothing stays.
void import_model(const StoredModel& model, const std::string& root, const std::string& program);

}  // namespace zero::models
