#pragma once

#include <string>

namespace zero::save {

/// Returns the error text for a path that is not a run, a folder of checkpoints, a checkpoint or a
/// model. Lists the folders beside it.
std::string no_folder_text(const std::string& path);

}  // namespace zero::save
