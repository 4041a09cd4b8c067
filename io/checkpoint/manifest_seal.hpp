#pragma once

#include <string>
#include <string_view>

namespace zero::checkpoint {

/// A manifest's text from all members but the last: adds the SHA-256 of them and the end.
std::string sealed(const std::string& members);

/// Throws Error(kInput) naming `path` unless the text ends with the right SHA-256.
void require_seal(std::string_view text, const std::string& path);

}  // namespace zero::checkpoint
