#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace zero::kernels {

/// Where row_product() looks for the elements of a weight [in, out]: in panels of kColumns columns
/// one behind the other, the last perhaps narrower, each [in, columns] row by row. A thread then
/// reads its panels from end to end and has the sums of a whole panel in registers.
struct WeightPanels {
  static constexpr int64_t kColumns = 64;

  int64_t in;
  int64_t out;

  int64_t count() const;
  int64_t columns(int64_t panel) const;
  /// Place of the panel's first element among all in * out.
  int64_t begin(int64_t panel) const { return panel * kColumns * in; }

  /// Of elements [first, first + values.size()) of the weight, row by row, those of `panel` go to
  /// `part`, in the order in which they lie there. Returns the place of the first of them.
  int64_t take(int64_t panel, int64_t first, std::span<const float> values,
               std::vector<float>& part) const;
};

}  // namespace zero::kernels
