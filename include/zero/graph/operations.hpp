#pragma once
/// The operations: what a model family writes its graphs with, and the constants that tell kinds
/// apart. Operations of one file src/graph/ops/<name>.cpp stand together: the verb first, then the
/// kinds.
///
/// Each verb checks shapes (Error(kInternal) naming both tensors), adds one op to the unit begun
/// last and returns its output. Where a text is continued (GraphBuilder::continues()) it adds the
/// kind that goes with a cache, and nothing is dropped.

#include "zero/graph/builder.hpp"
#include "zero/graph/operation.hpp"

namespace zero::graph {

/// What every op that draws knows: which use of dropout it is.
struct DropoutAttributes {
  int64_t samples = 0;  ///< of the micro-batch
  double probability = 0;
  int64_t site = 0;
};

/// Rows of both tables: `scale` times that of a token, and that of its place in the sample where
/// `position_table` is not kNone. `ids` are an input. A token table may have several users, such as
/// the classifier and a second embedding: its gradient is their sum in the order of the backward
/// pass.
TensorId embedding(GraphBuilder& out, TensorId ids, TensorId token_table,
                   TensorId position_table = kNone, float scale = 1);
extern const Operation kEmbedding, kEmbeddingGrad, kPositionGrad, kEmbeddingAt;

/// `residual` may be kNone.
TensorId dropout_add(GraphBuilder& out, TensorId x, TensorId residual, float probability,
                     const std::string& name);
extern const Operation kDropoutAdd;  ///< DropoutAttributes

/// a + b. Made where an activation has several gradients, too.
TensorId add(GraphBuilder& out, TensorId a, TensorId b, const std::string& name);
extern const Operation kAdd;

TensorId layernorm(GraphBuilder& out, TensorId x, TensorId weight, TensorId bias, float epsilon);
extern const Operation kLayernorm, kLayernormGrad;

/// x / sqrt(mean of x^2 + epsilon) weight, over rows of x.
TensorId rmsnorm(GraphBuilder& out, TensorId x, TensorId weight, float epsilon);
extern const Operation kRmsnorm, kRmsnormGrad;

/// x weight + bias; weight [in, out]. `bias` may be kNone.
TensorId linear(GraphBuilder& out, TensorId x, TensorId weight, TensorId bias);
extern const Operation kLinear, kLinearInputGrad, kLinearWeightGrad, kLinearBiasGrad;
/// Made by fuse(): h = linear, y = gelu(h); linear + residual; the gradient of h in
/// y = gelu(h) weight, and its sum over rows; the gradients of weight and bias.
extern const Operation kLinearGelu, kLinearAdd, kLinearInputGeluGrad, kLinearParameterGrad;
extern const Operation kRowLinear;  ///< no row depends on another

TensorId gelu(GraphBuilder& out, TensorId x);
extern const Operation kGelu, kGeluGrad;

/// x Phi(x), with the normal distribution, where gelu() has tanh in its place.
TensorId gelu_erf(GraphBuilder& out, TensorId x);
extern const Operation kGeluErf, kGeluErfGrad;

/// max(x, 0)
TensorId relu(GraphBuilder& out, TensorId x);
extern const Operation kRelu, kReluGrad;

/// max(x, 0)^2
TensorId squared_relu(GraphBuilder& out, TensorId x);
extern const Operation kSquaredRelu, kSquaredReluGrad;

/// What fp16 cannot hold becomes a large number: kernels::clamp(). Computing in another dtype, x
/// itself.
TensorId clamp_f16(GraphBuilder& out, TensorId x);
extern const Operation kClamp, kClampGrad;

/// a b, element by element, as in a gated activation.
TensorId multiply(GraphBuilder& out, TensorId a, TensorId b);
extern const Operation kMultiply;  ///< its own gradient, too

struct AttentionAttributes {
  int64_t heads = 0;
  int64_t head_width = 0;  ///< elements of a head in front of pad_heads()' zeros; 0: all
  DropoutAttributes dropout = {};
  int64_t both_ways = 0;  ///< 1: queries see the keys after them, too
  double divisor = 0;     ///< as AttentionOptions says
};
struct AttentionOptions {
  int64_t heads;
  float dropout = 0;            ///< of probabilities
  bool causal = true;           ///< a query sees the keys up to its own place
  double divisor = 0;           ///< of scores; 0: the square root of a head's width
  TensorId bias = kNone;        ///< of scores, fp32 [heads, queries + keys - 1]: relative_bias()
  TensorId key_counts = kNone;  ///< i32 [samples]; a sample's keys from there on are padding
};
/// Self-attention of qkv [rows, 3 * inner width]. Rows are those of all samples, and so are its
/// queries and its keys. Where texts are continued, a causal one has a cache of its own for each
/// text, and one that is not is an encoder's, whose rows are all of a source; counts are the rows'.
TensorId attention(GraphBuilder& out, TensorId qkv, const AttentionOptions& options);
/// Attention of q [samples * queries, inner width] to kv [samples * keys, 2 * inner width], keys
/// side by side with values. It is causal only where there are as many keys as queries. Where texts
/// are continued, kv are rows of sources, whose keys and values each source's cache holds.
TensorId cross_attention(GraphBuilder& out, TensorId q, TensorId kv,
                         const AttentionOptions& options);
extern const Operation kAttention, kAttentionGrad;            ///< AttentionAttributes
extern const Operation kCrossAttention, kCrossAttentionGrad;  ///< AttentionAttributes
extern const Operation kCachedAttention, kStoreKeys;

struct RelativeBias {
  int64_t queries = 0, keys = 0;
  int64_t max_distance = 128;  ///< from here on distances share a bucket
  int64_t bidirectional = 0;   ///< 1: keys after a query have buckets of their own, half of all
};
/// A bias of scores by buckets of distances: fp32 [heads, queries + keys - 1], one value a diagonal
/// key - query, that of key 0 and the last query first. `table` is a parameter [buckets, heads].
TensorId relative_bias(GraphBuilder& out, TensorId table, const RelativeBias& relative);
extern const Operation kRelativeBias, kRelativeBiasGrad;  ///< RelativeBias

/// `weight` as `heads` heads one after the other, as many times wider as `shape` is larger.
TensorId resize_heads(GraphBuilder& out, TensorId weight, int64_t heads, const Shape& shape);
extern const Operation kResizeHeads;  ///< its own gradient, too

struct ClassifierOptions {
  int64_t vocabulary = 0;  ///< real classes
  int64_t chunk_rows = 0;  ///< whose logits exist at a time
  float logit_scale = 1;   ///< of x table^T
  /// This share of the loss is the mean of -log p over the real classes; 0 where one evaluates.
  float label_smoothing = 0;
  /// [rows of table], added to logits. Not trained: as a parameter it must not decay, and its
  /// gradient is zero.
  TensorId logit_bias = kNone;
};
struct ClassifierAttributes {
  int64_t vocabulary = 0;  ///< real classes
  int64_t chunk_rows = 0;
  double logit_scale = 1;
  double label_smoothing = 0;
};
/// For a micro-batch: adds the loss of every counted target to the step's sums. `targets` are an
/// input with a class for each row of x, or -1.
void classifier(GraphBuilder& out, TensorId x, TensorId table, TensorId targets,
                const ClassifierOptions& options);
void classifier(GraphBuilder& out, TensorId x, TensorId table, TensorId targets, int64_t vocabulary,
                int64_t chunk_rows);
extern const Operation kClassifier, kClassifierGrad,
    kClassifierInputGrad;  ///< ClassifierAttributes

struct LogitOptions {
  int64_t vocabulary = 0;
  float scale = 1;
  TensorId bias = kNone;  ///< [rows of table]
};
/// For a chunk: logits [texts, vocabulary] in fp32 of the rows that are wanted, for the host.
void logits(GraphBuilder& out, TensorId x, TensorId table, const LogitOptions& options);
void logits(GraphBuilder& out, TensorId x, TensorId table, int64_t vocabulary);
extern const Operation kLogits;

}  // namespace zero::graph
