#pragma once
/// Sums over ranks, or other sources, as every communicator has to make them.

#include <cmath>
#include <cstdint>
#include <vector>

namespace zero::testing {

/// The balanced tree level by level: neighbours are paired, an odd one out goes up as it is.
inline float balanced_sum(std::vector<float> level) {
  while (level.size() > 1) {
    std::vector<float> next;
    for (size_t i = 0; i < level.size(); i += 2) {
      next.push_back(i + 1 < level.size() ? level[i] + level[i + 1] : level[i]);
    }
    level = next;
  }
  return level[0];
}

/// What a source contributes at element i: magnitudes differ, so that another order of adding
/// gives other bits.
inline float contribution(int source, int64_t i) {
  const uint32_t mixed = (uint32_t(source) * 7919u + uint32_t(i) + 1u) * 2654435761u;
  return std::ldexp(float(int32_t(mixed)), -31 + int(mixed % 11u));
}

/// The fp32 sum of what `sources` contribute at element i, each rounded to T.
template <class T>
float balanced_contributions(int sources, int64_t i) {
  std::vector<float> values;
  for (int source = 0; source < sources; ++source) {
    values.push_back(float(T(contribution(source, i))));
  }
  return balanced_sum(std::move(values));
}

}  // namespace zero::testing
