#pragma once

#include <string>
#include <vector>

namespace zero {

/// A key with the values that two input files give it.
struct Difference {
  std::string key, one, other;
};

/// Returns the keys, ascending, that the texts of two input files, `one` and `other`, both have,
/// with different values.
std::vector<Difference> differences(const std::string& one, const std::string& other);

/// Returns "run.seed = 1 and 2, zero.stage = 0 and 3": the first five differing keys in the texts
/// of two input files. "" if none differ.
std::string differing_settings(const std::string& one, const std::string& other);

}  // namespace zero
