#include <algorithm>
#include <vector>

#include "src/train/summary.hpp"
#include "zero/base/text.hpp"

namespace zero::train {

std::string region_table(std::span<const run::Executor::Profile> regions, int64_t steps) {
  std::vector<run::Executor::Profile> sorted(regions.begin(), regions.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  double busy = 0;
  for (const auto& region : sorted) busy += region.seconds;
  std::string out =
      "time of each region a step on rank 0, with evaluations; lanes run beside each other\n";
  for (const auto& region : sorted) {
    append(out, "  %-20s %10.3f ms %5.1f %%  %.1f calls\n", region.name,
           1e3 * region.seconds / double(steps), 100 * region.seconds / busy,
           double(region.calls) / double(steps));
  }
  return out;
}

}  // namespace zero::train
