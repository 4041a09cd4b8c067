#pragma once

#include <span>

#include "src/config/fields.hpp"

namespace zero {

struct FixedKey {
  std::string_view key;             ///< with its section
  std::vector<TomlValue> accepted;  ///< the default first; of a hint its default alone
  Standing standing;
  std::string_view reason;
  bool warns = false;  ///< of an accepted value that is not the default
  Range range = {};    ///< of a hint that is a number
};

/// Every key without a member, those of a section together.
std::span<const FixedKey> fixed_keys();

}  // namespace zero
