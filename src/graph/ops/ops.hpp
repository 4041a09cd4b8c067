#pragma once
/// The rows of info()'s table, each defined in the file of its family, and what several rules want.

#include "zero/graph/differentiate.hpp"
#include "zero/graph/op_info.hpp"

namespace zero::graph::ops {

extern const OpInfo kEmbedding, kEmbeddingGrad, kEmbeddingAt;
extern const OpInfo kLayernorm, kLayernormGrad;
extern const OpInfo kLinear, kLinearInputGrad, kLinearWeightGrad, kLinearBiasGrad;
extern const OpInfo kLinearGelu, kLinearAdd, kLinearInputGeluGrad, kLinearParameterGrad;
extern const OpInfo kGelu, kGeluGrad;
extern const OpInfo kAttention, kAttentionGrad;
extern const OpInfo kResizeHeads;
extern const OpInfo kDropoutAdd;
extern const OpInfo kAdd;
extern const OpInfo kClassifier;
extern const OpInfo kRowLinear;
extern const OpInfo kCachedAttention;
extern const OpInfo kLogits;

inline double no_flops(const Graph&, const Op&) { return 0; }
inline int64_t no_scratch(const Graph&, const Op&, int) { return 0; }

/// A new gradient of `parameter`, to be written whole by the op about to be appended. Throws
/// Error(kInternal) if another op writes it already: its kind's kernel would have to add.
inline TensorId new_parameter_gradient(GradientTape& tape, TensorId parameter) {
  bool fresh = false;
  const TensorId gradient = tape.parameter_gradient(parameter, fresh);
  ZERO_REQUIRE(fresh, "parameter ", tape.graph()[parameter].name,
               " is used twice, and this op's gradient kernel cannot add to what is there");
  return gradient;
}

}  // namespace zero::graph::ops
