#pragma once
/// Shared parts of this folder: shape checks, calls of appended ops, and functions that let other
/// files fuse or make ops. Includes the verbs and the builder.

#include "zero/graph/operations.hpp"
#include "zero/kernels/dropout.hpp"
#include "zero/kernels/rotate.hpp"

namespace zero::graph {

/// Returns "h.0.ln_1" for "h.0.ln_1.weight". Tensors of a layer are named after its weight.
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

/// Requires a table of classes with the width of x.
inline void require_head(const Tensor& x, const Tensor& table, int64_t vocabulary) {
  require_matrix(x);
  require_matrix(table);
  ZERO_REQUIRE(x.shape[1] == table.shape[1], describe(x), " and ", describe(table),
               " differ in width");
  ZERO_REQUIRE(vocabulary > 0 && vocabulary <= table.shape[0], describe(table), " has no rows for ",
               vocabulary, " classes");
}

/// Requires a bias with a number for each row of the table, or none.
inline void require_logit_bias(const GraphBuilder& out, TensorId bias, TensorId table) {
  if (bias != kNone) require_vector(out[bias], out[table], out[table].shape[0]);
}

/// Requires rows that split into heads of queries, keys and values. Returns the width of a head.
inline int64_t require_packed(const Tensor& qkv, const PackedHeads& packed) {
  require_matrix(qkv);
  const int64_t heads = packed.heads + 2 * packed.key_heads;
  ZERO_REQUIRE(packed.heads > 0 && packed.key_heads > 0 && qkv.shape[1] % heads == 0, describe(qkv),
               " does not split into ", packed.heads, " heads of queries, and twice ",
               packed.key_heads, " of keys and of values");
  return qkv.shape[1] / heads;
}

/// Returns the heads in rows of this shape.
inline kernels::PackedHeads packed_rows(const Shape& qkv, int64_t heads, int64_t key_heads) {
  return {.rows = qkv[0],
          .heads = heads,
          .key_heads = key_heads,
          .head_width = qkv[1] / (heads + 2 * key_heads)};
}

// elementwise.cpp

/// The operands of elementwise kinds, y = f(x).
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

// arithmetic.cpp

/// Returns the op y = a + b. `y` may be `a`.
Op addition(TensorId a, TensorId b, TensorId y);

// dropout_add.cpp

/// Returns the settings of the next use of dropout. Throws Error(kInternal) if `probability` is not
/// one.
DropoutAttributes drawn(GraphBuilder& out, float probability);
kernels::DropoutSite site_of(const OpCall& call, const DropoutAttributes& attributes);

struct Addition {
  TensorId residual = kNone, y = kNone;
};
/// Returns the addition to x if `op` is a dropout_add() without dropout, otherwise kNone. A product
/// may add it on its way out.
Addition addition_to(const Op& op, TensorId x);

// linear.cpp

/// Returns the bias gradient that `op` computes as the sum over rows of dy; kNone for other ops.
/// The writer of dy may compute it in passing.
TensorId sum_over_rows(const Op& op, TensorId dy);

// resize_heads.cpp

/// Returns the op that widens a weight's `heads` heads.
Op resizing(TensorId weight, TensorId wide, int64_t heads);

// row_linear.cpp

/// Returns the op that linear() adds in a chunk.
Op row_linear(TensorId x, TensorId weight, TensorId bias, TensorId y);

// cached_attention.cpp

/// Adds attention with a cache, for attention() and cross_attention() in a chunk.
TensorId cached_attention(GraphBuilder& out, TensorId qkv, const AttentionOptions& options);
TensorId cached_attention(GraphBuilder& out, TensorId q, TensorId kv,
                          const AttentionOptions& options);

}  // namespace zero::graph
