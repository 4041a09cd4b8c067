#pragma once

#include <string>

#include "zero/config/run_config.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/save/checkpointer.hpp"

namespace zero::save {

/// Checks a manifest's facts against its step, its files and each other, because a valid seal may
/// be anybody's. `path` names the manifest. Throws Error(kInput) with `path` and the fact.
void require_facts_fit(const checkpoint::Manifest& manifest, const std::string& path);

/// Returns the manifest of a step from its open folder. Throws as Store::read_manifest() and
/// require_facts_fit().
checkpoint::Manifest read_fit_manifest(const checkpoint::Store& store, int folder, int64_t step);

/// Returns the path of a step's manifest, for messages.
std::string manifest_path(const checkpoint::Store& store, int64_t step);

/// Checks that a checkpoint's model is that of the run that goes on from it. Throws as the other
/// require_model_fits().
void require_model_fits(const Facts& facts, const RunConfig& config, const std::string& place);

}  // namespace zero::save
