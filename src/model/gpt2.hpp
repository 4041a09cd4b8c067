#pragma once

#include "zero/model/family.hpp"

namespace zero::model {

/// Returns GPT-2's row of functions.
const Family& gpt2_family();

struct Gpt2 {
  int64_t layers;
  int64_t width;
  int64_t heads;
  int64_t vocabulary;     ///< real classes; the table is padded to a multiple of 64
  int64_t positions;      ///< rows of the position table
  float dropout = 0.0f;   ///< rate for embeddings, attention probabilities and residuals
  float epsilon = 1e-5f;  ///< term in layer norms

  operator Architecture() const;
};

int64_t padded_vocabulary(const Gpt2& model);

/// Returns the number of parameters without the vocabulary's padding.
int64_t parameter_count(const Gpt2& model);

/// Returns the graph that continues texts by the tokens of a chunk and gives logits after them. Has
/// the trunk's parameters in their order, and a cache of keys and values for each block and text.
/// Throws Error(kUsage) if heads do not divide width or the context exceeds positions.
graph::Graph gpt2_decode(const Gpt2& model, const graph::Chunk& chunk, Dtype compute);

/// Returns the floating-point operations of one token, forward and backward: 6 N + 6 layers width
/// length. N is parameter_count(), where the tied table counts once, for the head's product (a
/// lookup costs nothing). Attention is causal. Recompute is not counted.
double flops_per_token(const Gpt2& model, int64_t length);

}  // namespace zero::model
