#pragma once

#include <string>

#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// Holds the parts of a manifest from elsewhere against each other: names, lengths, and that every
/// element of every tensor lies in one slice. Throws Error(kInput) naming `path`, the place and
/// what is wrong.
void require_rules(const Manifest& manifest, const std::string& path);

}  // namespace zero::checkpoint
