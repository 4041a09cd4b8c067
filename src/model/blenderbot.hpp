#pragma once

#include "zero/model/family.hpp"

namespace zero::model {

/// Its row of functions.
const Family& blenderbot_family();

struct Blenderbot {
  int64_t layers;  ///< of the encoder
  int64_t decoder_layers;
  int64_t width;  ///< of the residual stream
  int64_t heads;
  int64_t inner;           ///< width of the encoder's feed-forward layers
  int64_t decoder_inner;   ///< and the decoder's
  int64_t vocabulary;      ///< real classes; the table is padded to a multiple of 64
  int64_t positions;       ///< rows of either stack's position table
  float dropout = 0.0f;    ///< of embeddings and residuals, not of attention
  float smoothing = 0.0f;  ///< share of the loss that all classes have in common
  float epsilon = 1e-5f;   ///< of layer norms

  operator Architecture() const;
};

/// Parameters without the padding of the vocabulary, and without final_logits_bias, which is not
/// trained.
int64_t parameter_count(const Blenderbot& model);

/// Forward graph with loss. Inputs: "source" [S] and "source_count" [1] for the encoder, "previous"
/// and "next" [T] for the decoder. Parameters have Hugging Face's names, but a layer's queries,
/// keys and values are one: model.encoder.layers.0.self_attn.qkv_proj.weight [width, 3 width],
/// model.decoder.layers.0.encoder_attn.kv_proj.bias. Unit "shared" holds the table of tokens, both
/// tables of positions, both final norms and final_logits_bias, which stays as it is; each block is
/// one of its own. Initialisation N(0, 0.02). Throws Error(kUsage) where heads do not divide width
/// or a length exceeds positions. Source: Roller et al. 2020 (arXiv:2004.13637); Hugging Face
/// modeling_blenderbot.py for names and shapes.
graph::Graph blenderbot(const Blenderbot& model, const ForwardOptions& options);

/// Graph that reads sources or continues texts after them, with the same parameters in the same
/// order, and gives logits after texts. Throws Error(kUsage) where a cache holds more tokens than
/// there are positions.
graph::Graph blenderbot_decode(const Blenderbot& model, const graph::Chunk& chunk, Dtype compute);

/// Floating-point operations of one target's forward and backward pass, its share of the source
/// included, counted as for a T5.
double flops_per_target(const Blenderbot& model, const graph::MicroBatch& micro);

}  // namespace zero::model
