#include <algorithm>
#include <iterator>

#include "zero/base/text.hpp"
#include "zero/device/device.hpp"

namespace zero {

CoreChoice choose_cores(const std::vector<int>& allowed, const std::vector<int>& near) {
  std::vector<int> both;
  std::set_intersection(allowed.begin(), allowed.end(), near.begin(), near.end(),
                        std::back_inserter(both));
  if (!both.empty()) return {both, counted(int64_t(both.size()), "core") + " near it"};
  const char* const doubt = near.empty() ? "" : ", none of them near it";
  return {allowed, counted(int64_t(allowed.size()), "core") + doubt};
}

}  // namespace zero
