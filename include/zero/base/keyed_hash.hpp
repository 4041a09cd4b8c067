#pragma once

#include <cstddef>
#include <string_view>

namespace zero {

/// Hashes texts from elsewhere for a table of this process. The key is drawn when the process
/// begins, so nobody can write texts that all have one hash. It differs between processes: no
/// result may depend on it, nor on the order of a table.
struct KeyedHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const;
};

}  // namespace zero
