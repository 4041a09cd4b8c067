#pragma once

#include "zero/model/family.hpp"

namespace zero::model {

/// Its row of functions.
const Family& gpt2_family();

struct Gpt2 {
  int64_t layers;
  int64_t width;
  int64_t heads;
  int64_t vocabulary;     ///< real classes; the table is padded to a multiple of 64
  int64_t positions;      ///< rows of the position table
  float dropout = 0.0f;   ///< of embeddings, attention probabilities and residuals
  float epsilon = 1e-5f;  ///< of layer norms

  operator Architecture() const;
};

int64_t padded_vocabulary(const Gpt2& model);

/// Parameters without the padding of the vocabulary.
int64_t parameter_count(const Gpt2& model);

/// Forward graph with loss. Parameter names are Hugging Face's without "transformer.":
/// wte.weight, wpe.weight, h.0.ln_1.weight, h.0.attn.c_attn.weight [width, 3 width], ...
/// Unit "embedding" holds wte, wpe and ln_f; each block is one of its own. Initialisation N(0,
/// 0.02), the two projections into the residual stream by 1 / sqrt(2 layers) smaller. Throws
/// Error(kUsage) where heads do not divide width or length exceeds positions. Source: Radford et
/// al. 2019; Hugging Face modeling_gpt2.py for names and shapes.
graph::Graph gpt2(const Gpt2& model, const ForwardOptions& options);

/// Graph that continues texts by the tokens of a chunk and gives logits after them: the same
/// parameters in the same order, with a cache of keys and values a block and text. Throws
/// Error(kUsage) where heads do not divide width or the context exceeds positions.
graph::Graph gpt2_decode(const Gpt2& model, const graph::Chunk& chunk, Dtype compute);

/// Floating-point operations of one token's forward and backward pass: 6 N + 6 L C T. N is
/// parameter_count(), where the tied table stands once, for the head's product (looking a token up
/// costs none); attention is causal; recompute is not counted.
double flops_per_token(const Gpt2& model, int64_t length);

}  // namespace zero::model
