#pragma once
/// What the files of this folder share: checks of shapes that several verbs make, how these call
/// what they make, and what other files need of a kind, to join ops or to make one. Brings the
/// verbs and the builder.

#include "zero/graph/operations.hpp"
#include "zero/kernels/dropout.hpp"

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

/// One number a row of the table, or none.
inline void require_logit_bias(const GraphBuilder& out, TensorId bias, TensorId table) {
  if (bias != kNone) require_vector(out[bias], out[table], out[table].shape[0]);
}

// elementwise.cpp

/// Operands of kinds of y = f(x), each element alone.
struct Elementwise {
  template <class S>
  struct In {
    S x;
  };
  template <class S>
  struct Out {
    S y;
  };
};

/// The operands of dx = dy f'(x).
struct ElementwiseGrad {
  template <class S>
  struct In {
    S x, dy;
  };
  template <class S>
  struct Out {
    S dx;
  };
};

// add.cpp

/// y = a + b, where y may be a.
Op addition(TensorId a, TensorId b, TensorId y);

// dropout_add.cpp

/// The next use of dropout. Throws Error(kInternal) for what is no probability.
DropoutAttributes drawn(GraphBuilder& out, float probability);
kernels::DropoutSite site_of(const OpCall& call, const DropoutAttributes& attributes);

struct Addition {
  TensorId residual = kNone, y = kNone;
};
/// What `op` adds to x, where it is dropout_add() that drops nothing; else kNone. A product may add
/// it on its way out.
Addition addition_to(const Op& op, TensorId x);

// linear.cpp

/// The gradient of a bias that `op` makes as the sum over the rows of dy; kNone where it does
/// something else. What writes dy may give it in passing.
TensorId sum_over_rows(const Op& op, TensorId dy);

// resize_heads.cpp

/// Returns the op that makes `heads` wider heads of a weight.
Op resizing(TensorId weight, TensorId wide, int64_t heads);

// row_linear.cpp

/// What linear() adds where a text is continued.
Op row_linear(TensorId x, TensorId weight, TensorId bias, TensorId y);

// cached_attention.cpp

/// What attention() and cross_attention() add where texts are continued, with a cache of its own.
TensorId cached_attention(GraphBuilder& out, TensorId qkv, const AttentionOptions& options);
TensorId cached_attention(GraphBuilder& out, TensorId q, TensorId kv,
                          const AttentionOptions& options);

}  // namespace zero::graph
