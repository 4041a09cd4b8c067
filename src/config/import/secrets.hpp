#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/import/source.hpp"

namespace zero {

inline constexpr const char* kHidden = "HIDDEN";  ///< stands for a secret in every message

/// True of the name of a flag, a key or an environment variable whose value is a secret: a token of
/// a service, a password, a key of an interface. The names of a tokenizer's tokens are none.
bool names_secret(std::string_view name);

/// Returns the words of a command with kHidden for each secret: --name VALUE, --name=VALUE,
/// NAME=VALUE, and what stands in front of the @ of an address.
std::vector<std::string> hide_secrets(std::span<const std::string> words);

/// Puts kHidden for the secrets of a file.
void hide_secrets(Source& source);

}  // namespace zero
