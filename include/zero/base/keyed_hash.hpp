#pragma once

#include <cstddef>
#include <string_view>

namespace zero {

/// A hash for the tables of this process. The process draws the key when it begins, so nobody can
/// write texts that all have one hash. No result may depend on the key, nor on the order of a
/// table.
struct KeyedHash {
  using is_transparent = void;
  /// Returns the hash of a text.
  size_t operator()(std::string_view text) const;
};

}  // namespace zero
