#pragma once

#include "zero/model/family.hpp"

namespace zero::model {

/// Returns BlenderBot's row of functions.
const Family& blenderbot_family();

struct Blenderbot {
  int64_t layers;  ///< encoder layers
  int64_t decoder_layers;
  int64_t width;  ///< elements of the residual stream
  int64_t heads;
  int64_t inner;           ///< width of the encoder's feed-forward layers
  int64_t decoder_inner;   ///< width of the decoder's
  int64_t vocabulary;      ///< real classes; the table is padded to a multiple of 64
  int64_t positions;       ///< rows of either stack's position table
  float dropout = 0.0f;    ///< rate for embeddings and residuals, not for attention
  float smoothing = 0.0f;  ///< share of the loss spread over all classes
  float epsilon = 1e-5f;   ///< term in layer norms

  operator Architecture() const;
};

/// Returns the number of parameters, without the vocabulary's padding and without
/// final_logits_bias, which is not trained.
int64_t parameter_count(const Blenderbot& model);

/// Adds the forward graph up to the decoder's last rows. Inputs: "source" [S] and "source_count"
/// [1] for the encoder, "previous" [T] for the decoder. Parameters have Hugging Face's names,
/// except that a layer's queries, keys and values are one:
/// model.encoder.layers.0.self_attn.qkv_proj.weight [width, 3 width],
/// model.decoder.layers.0.encoder_attn.kv_proj.bias. Unit "shared" holds the table of tokens, both
/// tables of positions, both final norms and final_logits_bias, which stays constant. Each block is
/// a unit. Initialisation N(0, 0.02). Throws Error(kUsage) if heads do not divide width or a length
/// exceeds positions. Source: Roller et al. 2020 (arXiv:2004.13637); Hugging Face
/// modeling_blenderbot.py for names and shapes.
Trunk blenderbot_trunk(graph::GraphBuilder& out, const Blenderbot& model,
                       const ForwardOptions& options);

/// Adds the loss of input "next" [T].
void blenderbot_head(graph::GraphBuilder& out, const Blenderbot& model, const Trunk& trunk,
                     const ForwardOptions& options);

/// Returns the graph that reads sources or continues texts after them, and gives logits after
/// texts. Has the trunk's parameters in their order. Throws Error(kUsage) if heads do not divide
/// width or a cache holds more tokens than positions.
graph::Graph blenderbot_decode(const Blenderbot& model, const graph::Chunk& chunk, Dtype compute);

/// Returns the floating-point operations of one target, forward and backward, with its share of the
/// source, counted as for a T5.
double flops_per_target(const Blenderbot& model, const graph::MicroBatch& micro);

}  // namespace zero::model
