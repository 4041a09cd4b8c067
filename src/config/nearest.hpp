#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

/// The fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`;
/// `most` + 1 for all that are more. `b` has at most 100 characters.
size_t edit_distance(std::string_view a, std::string_view b, size_t most = SIZE_MAX - 1);

/// The dotted key that somebody who wrote `key` most likely meant, by its spelling or by its last
/// part under another section; "" if none is near.
std::string nearest_key(std::string_view key, const std::vector<std::string>& keys);

}  // namespace zero
