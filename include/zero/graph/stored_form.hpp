#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zero::graph {

/// The form of a parameter of [rows, columns], or of a vector as one row, in Hugging Face's files:
/// tensors whose columns stand side by side in the parameter.
struct StoredForm {
  std::vector<std::string> names;  ///< in the order of columns, without the family's prefix
  bool transposed = false;  ///< a tensor is [its columns, rows], as the weight of torch.nn.Linear
  bool one_row = false;     ///< a vector is stored as [1, columns]
  std::vector<int64_t> widths = {};  ///< columns of each tensor; empty: equal
  /// More than 1: the weight of torch.nn.Conv1d, whose tensor is [columns, rows / places, places].
  /// The parameter's rows are those of the first place, then of the second.
  int64_t places = 1;

  /// True if this form is one tensor of the parameter's extents.
  bool is_plain() const { return names.size() == 1 && !transposed && places == 1; }
  bool operator==(const StoredForm&) const = default;
};

/// Returns for each tensor of a form the column behind its last, ascending, in a parameter of
/// `columns`. Throws Error(kInternal) if the tensors do not divide the columns.
std::vector<int64_t> column_ends(const StoredForm& form, int64_t columns);

/// Returns the extents that tensor number `tensor` of form.names has in a file, for a parameter of
/// `shape`.
std::vector<int64_t> stored_extents(const StoredForm& form, std::span<const int64_t> shape,
                                    size_t tensor);

/// Copies a whole parameter of `shape` to `tensors`, its tensors in files by `form`, one behind the
/// other. Both spans hold as many elements as `shape` and do not overlap.
void to_stored(const StoredForm& form, std::span<const int64_t> shape,
               std::span<const float> parameter, std::span<float> tensors);

/// Copies the tensors in files back to the whole parameter: the inverse of to_stored().
void from_stored(const StoredForm& form, std::span<const int64_t> shape,
                 std::span<const float> tensors, std::span<float> parameter);

}  // namespace zero::graph
