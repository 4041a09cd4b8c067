#include "zero/graph/stored_form.hpp"

#include "zero/base/error.hpp"

namespace zero::graph {
namespace {

/// The extents of one tensor, not transposed.
struct Part {
  int64_t rows, columns;
};

Part part_of(const StoredForm& form, std::span<const int64_t> shape) {
  const auto parts = int64_t(form.names.size());
  ZERO_REQUIRE(shape.size() == 1 || shape.size() == 2, "a parameter of ", shape.size(), " extents");
  ZERO_REQUIRE(shape.size() == 2 || !form.transposed, form.names[0], ": a transposed vector");
  ZERO_REQUIRE(parts > 0 && shape.back() % parts == 0, shape.back(), " columns of ", parts,
               " tensors");
  return {.rows = shape.size() == 2 ? shape[0] : 1, .columns = shape.back() / parts};
}

/// Calls `visit` with the index of each element in the tensors and in the parameter.
template <class Visit>
void for_elements(const StoredForm& form, std::span<const int64_t> shape, const Visit& visit) {
  const auto [rows, columns] = part_of(form, shape);
  const int64_t width = shape.back();
  for (int64_t part = 0; part < int64_t(form.names.size()); ++part) {
    const int64_t begin = part * rows * columns;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t stored = form.transposed ? column * rows + row : row * columns + column;
        visit(size_t(begin + stored), size_t(row * width + part * columns + column));
      }
    }
  }
}

}  // namespace

std::vector<int64_t> stored_extents(const StoredForm& form, std::span<const int64_t> shape) {
  if (form.one_row) return {1, shape.back()};
  if (form.is_plain()) return {shape.begin(), shape.end()};
  const auto [rows, columns] = part_of(form, shape);
  if (shape.size() == 1) return {columns};
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
