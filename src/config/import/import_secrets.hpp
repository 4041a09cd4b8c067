#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/import/nested_file.hpp"

namespace zero {

inline constexpr const char* kHidden = "HIDDEN";  ///< replaces a secret in every text

/// True for the name of a flag, a key or an environment variable with a secret value: a token of a
/// service, a password, an API key. One part of a dotted name suffices. Names of a tokenizer's
/// tokens are not secret.
bool names_secret(std::string_view name);

/// Returns the words of a command with kHidden for each secret: in --name VALUE..., --name=VALUE,
/// NAME=VALUE, and before the @ of an address. Inside a word, kHidden replaces what follows a
/// secret's name in JSON, in an address, in pairs of NAME=VALUE and in a quoted command.
std::vector<std::string> hide_secrets(std::span<const std::string> words);

/// Replaces the secrets of a file by kHidden, also those inside its texts and lists of texts.
void hide_secrets(Source& source);

}  // namespace zero
