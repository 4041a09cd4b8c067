#pragma once

#include "zero/model/family.hpp"

namespace zero::model {

/// Its row of functions.
const Family& t5_family();

struct T5 {
  int64_t layers;  ///< of the encoder
  int64_t decoder_layers;
  int64_t width;  ///< of the residual stream
  int64_t heads;
  int64_t head_width;      ///< heads x head_width need not be `width`
  int64_t inner;           ///< width of the feed-forward layers
  int64_t vocabulary;      ///< real classes; tables are padded to a multiple of 64
  int64_t buckets = 32;    ///< of distances between a query and a key
  int64_t distance = 128;  ///< from here on distances share a bucket
  bool gated = false;      ///< gelu(x wi_0) * (x wi_1) in place of relu(x wi), as in T5 1.1
  bool tied = true;        ///< the table of tokens is the head, too
  /// A tied head's input is scaled and that of another one is not; else the reverse, as only
  /// Transformers 5 can say.
  bool scales_otherwise = false;
  float dropout = 0.0f;    ///< of embeddings, probabilities, feed-forwards and residuals
  float smoothing = 0.0f;  ///< share of the loss that all classes have in common
  float epsilon = 1e-6f;   ///< of norms

  operator Architecture() const;
};

/// Parameters without the padding of the vocabulary.
int64_t parameter_count(const T5& model);

/// Forward graph with loss. Inputs: "source" [S] and "source_count" [1] for the encoder, "previous"
/// and "next" [T] for the decoder. Parameters have Hugging Face's names, but a layer's queries,
/// keys and values are one: encoder.block.0.layer.0.SelfAttention.qkv.weight [width, 3 heads
/// head_width], decoder.block.0.layer.1.EncDecAttention.kv.weight. Unit "shared" holds the table of
/// tokens, the tables of distances and both final norms; each block is one of its own; a head of
/// its own is one, too. Throws Error(kUsage) where buckets are not a multiple of 4. Source: Raffel
/// et al. 2020 (arXiv:1910.10683), Shazeer 2020 (arXiv:2002.05202); Hugging Face modeling_t5.py for
/// names, initial values and what differs between them.
graph::Graph t5(const T5& model, const ForwardOptions& options);

/// Graph that reads sources or continues texts after them, with the same parameters in the same
/// order, and gives logits after texts.
graph::Graph t5_decode(const T5& model, const graph::Chunk& chunk, Dtype compute);

/// Floating-point operations of one target's forward and backward pass, its share of the source
/// included: 6 N for what a token goes through. Scores and their products add 12 times width and
/// length, half of it where attention is causal.
double flops_per_target(const T5& model, const graph::MicroBatch& micro);

}  // namespace zero::model
