#pragma once
/// Checks of shapes that several verbs make, and how they call what they make.

#include <string>

#include "zero/graph/builder.hpp"

namespace zero::graph {

/// "h.0.ln_1" of "h.0.ln_1.weight": names what a layer makes after its weight.
inline std::string stem(const std::string& name) { return name.substr(0, name.rfind('.')); }

inline std::string describe(const Tensor& tensor) {
  return tensor.name + " " + to_text(tensor.shape);
}

inline void require_matrix(const Tensor& tensor) {
  ZERO_REQUIRE(tensor.shape.rank() == 2, describe(tensor), " must be a matrix");
}

inline void require_vector(const Tensor& vector, const Tensor& matrix, int64_t width) {
  ZERO_REQUIRE(vector.shape == Shape({width}), describe(vector), " does not fit ", describe(matrix),
               ": one element a column is needed");
}

/// A table whose rows are classes, for x of the same width.
inline void require_head(const Tensor& x, const Tensor& table, int64_t vocabulary) {
  require_matrix(x);
  require_matrix(table);
  ZERO_REQUIRE(x.shape[1] == table.shape[1], describe(x), " and ", describe(table),
               " differ in width");
  ZERO_REQUIRE(vocabulary > 0 && vocabulary <= table.shape[0], describe(table), " has no rows for ",
               vocabulary, " classes");
}

}  // namespace zero::graph
