#include "zero/graph/stored_form.hpp"

#include <algorithm>
#include <functional>

#include "zero/base/error.hpp"

namespace zero::graph {
namespace {

int64_t rows_of(const StoredForm& form, std::span<const int64_t> shape) {
  ZERO_REQUIRE(shape.size() == 1 || shape.size() == 2, "a parameter of ", shape.size(), " extents");
  ZERO_REQUIRE(shape.size() == 2 || !form.transposed, form.names[0], ": a transposed vector");
  const int64_t rows = shape.size() == 2 ? shape[0] : 1;
  ZERO_REQUIRE(form.places == 1 || (form.names.size() == 1 && rows % form.places == 0),
               form.names[0], ": ", form.places, " places of ", rows, " rows");
  return rows;
}

bool is_turned(const StoredForm& form) { return form.transposed || form.places > 1; }

/// Calls `visit` with the index of each element in the tensors and in the parameter.
template <class Visit>
void for_elements(const StoredForm& form, std::span<const int64_t> shape, const Visit& visit) {
  const int64_t rows = rows_of(form, shape), all = shape.back();
  int64_t left = 0;
  for (const int64_t right : column_ends(form, all)) {
    const int64_t begin = rows * left, columns = right - left;
    for (int64_t row = 0; row < rows; ++row) {
      // A turned tensor has the places of an input side by side.
      const int64_t each = rows / form.places, turned = row % each * form.places + row / each;
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t stored = is_turned(form) ? column * rows + turned : row * columns + column;
        visit(size_t(begin + stored), size_t(row * all + left + column));
      }
    }
    left = right;
  }
}

}  // namespace

std::vector<int64_t> column_ends(const StoredForm& form, int64_t columns) {
  const auto tensors = int64_t(form.names.size());
  ZERO_REQUIRE(tensors > 0 && (!form.widths.empty() || columns % tensors == 0), columns,
               " columns of ", tensors, " tensors");
  ZERO_REQUIRE(form.widths.empty() || form.widths.size() == form.names.size(), form.names.size(),
               " tensors of ", form.widths.size(), " widths");
  std::vector<int64_t> ends;
  for (int64_t tensor = 0; tensor < tensors; ++tensor) {
    const int64_t width = form.widths.empty() ? columns / tensors : form.widths[size_t(tensor)];
    ends.push_back((ends.empty() ? 0 : ends.back()) + width);
  }
  const bool is_ascending = ends.front() > 0 && std::ranges::is_sorted(ends, std::less_equal<>());
  ZERO_REQUIRE(is_ascending && ends.back() == columns, form.names[0], ": widths that add to ",
               ends.back(), " of ", columns, " columns");
  return ends;
}

std::vector<int64_t> stored_extents(const StoredForm& form, std::span<const int64_t> shape,
                                    size_t tensor) {
  if (form.one_row) return {1, shape.back()};
  if (form.is_plain()) return {shape.begin(), shape.end()};
  const int64_t rows = rows_of(form, shape);
  const std::vector<int64_t> ends = column_ends(form, shape.back());
  const int64_t columns = ends[tensor] - (tensor == 0 ? 0 : ends[tensor - 1]);
  if (shape.size() == 1) return {columns};
  if (form.places > 1) return {columns, rows / form.places, form.places};
  return form.transposed ? std::vector{columns, rows} : std::vector{rows, columns};
}

void to_stored(const StoredForm& form, std::span<const int64_t> shape,
               std::span<const float> parameter, std::span<float> tensors) {
  for_elements(form, shape, [&](size_t stored, size_t own) { tensors[stored] = parameter[own]; });
}

void from_stored(const StoredForm& form, std::span<const int64_t> shape,
                 std::span<const float> tensors, std::span<float> parameter) {
  for_elements(form, shape, [&](size_t stored, size_t own) { parameter[own] = tensors[stored]; });
}

}  // namespace zero::graph
