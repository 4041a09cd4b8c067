#pragma once

#include <string>
#include <string_view>

#include "zero/io/checkpoint/manifest.hpp"

namespace zero::checkpoint {

/// Checks the parts of an untrusted manifest against each other: names, lengths, and that every
/// element of every tensor lies in one slice. Throws Error(kInput) naming `path`, the place and the
/// fault.
void require_rules(const Manifest& manifest, const std::string& path);

/// Returns a manifest's text: all members but the last, then their SHA-256 and the end.
std::string sealed(const std::string& members);

/// Throws Error(kInput) naming `path` unless the text ends with the right SHA-256.
void require_seal(std::string_view text, const std::string& path);

}  // namespace zero::checkpoint
