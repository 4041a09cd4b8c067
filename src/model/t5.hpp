#pragma once

#include "zero/model/family.hpp"

namespace zero::model {

/// Returns T5's row of functions.
const Family& t5_family();

struct T5 {
  int64_t layers;  ///< encoder layers
  int64_t decoder_layers;
  int64_t width;  ///< elements of the residual stream
  int64_t heads;
  int64_t head_width;      ///< heads x head_width need not be `width`
  int64_t inner;           ///< width of the feed-forward layers
  int64_t vocabulary;      ///< real classes; tables are padded to a multiple of 64
  int64_t buckets = 32;    ///< ranges of distances between a query and a key
  int64_t distance = 128;  ///< distances from this one on share a bucket
  bool gated = false;      ///< gelu(x wi_0) * (x wi_1) instead of relu(x wi), as in T5 1.1
  bool tied = true;        ///< the table of tokens is also the head
  /// True if an untied head's input is scaled and a tied head's is not, which only Transformers 5
  /// can say. False for the reverse.
  bool scales_otherwise = false;
  float dropout = 0.0f;    ///< rate for embeddings, probabilities, feed-forwards and residuals
  float smoothing = 0.0f;  ///< share of the loss spread over all classes
  float epsilon = 1e-6f;   ///< term in norms

  operator Architecture() const;
};

/// Returns the number of parameters without the vocabulary's padding.
int64_t parameter_count(const T5& model);

/// Adds the forward graph up to the decoder's last rows. Inputs: "source" [S] and "source_count"
/// [1] for the encoder, "previous" [T] for the decoder. Parameters have Hugging Face's names,
/// except that a layer's queries, keys and values are one:
/// encoder.block.0.layer.0.SelfAttention.qkv.weight [width, 3 heads head_width],
/// decoder.block.0.layer.1.EncDecAttention.kv.weight. Unit "shared" holds the table of tokens, the
/// tables of distances and both final norms. Each block is a unit, and so is an untied head. Throws
/// Error(kUsage) if buckets are not a multiple of 4. Source: Raffel et al. 2020 (arXiv:1910.10683),
/// Shazeer 2020 (arXiv:2002.05202); Hugging Face modeling_t5.py for names, initial values and
/// differences between them.
Trunk t5_trunk(graph::GraphBuilder& out, const T5& model, const ForwardOptions& options);

/// Adds the loss of input "next" [T].
void t5_head(graph::GraphBuilder& out, const T5& model, const Trunk& trunk,
             const ForwardOptions& options);

/// Returns the graph that reads sources or continues texts after them, and gives logits after
/// texts. Has the trunk's and head's parameters in their order. Throws
/// as t5_trunk().
graph::Graph t5_decode(const T5& model, const graph::Chunk& chunk, Dtype compute);

/// Returns the floating-point operations of one target, forward and backward, with its share of the
/// source: 6 N for the weights that a token meets. Scores and their products add 12 x width x
/// length, half of it in causal attention.
double flops_per_target(const T5& model, const graph::MicroBatch& micro);

}  // namespace zero::model
