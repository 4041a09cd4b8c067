#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zero::model {

/// How Hugging Face's files hold a parameter of [rows, columns], or a vector, which is one row:
/// tensors of equal extents, whose columns stand side by side in the parameter.
struct StoredForm {
  std::vector<std::string> names;  ///< without the family's prefix, from the first column on
  bool transposed = false;  ///< a tensor is [its columns, rows], as torch.nn.Linear has its weight

  /// One tensor of the parameter's extents.
  bool is_plain() const { return names.size() == 1 && !transposed; }
  bool operator==(const StoredForm&) const = default;
};

/// Extents of each tensor of a parameter of `shape`.
std::vector<int64_t> stored_extents(const StoredForm& form, std::span<const int64_t> shape);

/// The elements of all tensors, one tensor after the other, from a whole parameter of `shape`.
/// Both hold as many elements as `shape` says; they do not overlap.
void to_stored(const StoredForm& form, std::span<const int64_t> shape,
               std::span<const float> parameter, std::span<float> tensors);

/// The way back.
void from_stored(const StoredForm& form, std::span<const int64_t> shape,
                 std::span<const float> tensors, std::span<float> parameter);

}  // namespace zero::model
