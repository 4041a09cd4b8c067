#pragma once

#include <map>
#include <string>
#include <string_view>

namespace zero {

/// Returns inputs/reference.toml as it was when the program was built.
std::string_view reference_text();

/// The comments on a key in the reference.
struct ReferenceEntry {
  std::string text;   ///< behind and below the value
  std::string group;  ///< above the key, for it and its successors
};

/// Returns the entries of a reference by key. Words of a comment have single blanks between them.
std::map<std::string, ReferenceEntry> entries_of_reference(std::string_view reference);

}  // namespace zero
