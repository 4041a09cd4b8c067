#include <algorithm>

#include "zero/base/align.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace {

/// Returns the number of elements of a panel that come before element `index` of the weight.
int64_t elements_before(const WeightPanels& panels, int64_t panel, int64_t index) {
  const int64_t columns = panels.columns(panel), column = index % panels.out;
  return index / panels.out * columns +
         std::clamp<int64_t>(column - panel * WeightPanels::kColumns, 0, columns);
}

}  // namespace

int64_t WeightPanels::count() const { return ceil_div(out, kColumns); }

int64_t WeightPanels::columns(int64_t panel) const {
  return std::min(kColumns, out - panel * kColumns);
}

int64_t WeightPanels::take(int64_t panel, int64_t first, std::span<const float> values,
                           std::vector<float>& part) const {
  const int64_t wide = columns(panel);
  const int64_t from = elements_before(*this, panel, first);
  const int64_t to = elements_before(*this, panel, first + int64_t(values.size()));
  part.clear();
  for (int64_t at = from; at < to;) {
    const int64_t row = at / wide, column = at % wide, numel = std::min(wide - column, to - at);
    const auto source = values.begin() + (row * out + panel * kColumns + column - first);
    part.insert(part.end(), source, source + numel);
    at += numel;
  }
  return begin(panel) + from;
}

}  // namespace zero::kernels
