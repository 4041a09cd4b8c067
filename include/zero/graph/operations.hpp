#pragma once
/// Verbs that models write graphs with, and constants for the kinds of ops. Each group is defined
/// in src/graph/ops/<name>.cpp, verb first, then kinds.
///
/// Each verb takes `out`, the graph in progress, checks shapes (Error(kInternal) naming both
/// tensors), appends an op to the unit begun last and returns its output. If
/// GraphBuilder::continues(), it adds the kind that uses a cache, without dropout.

#include "zero/graph/graph_builder.hpp"
#include "zero/graph/operation.hpp"

namespace zero::graph {

/// The settings of an op that draws random numbers.
struct DropoutAttributes {
  int64_t samples = 0;  ///< in the micro-batch
  double probability = 0;
  int64_t site = 0;
};

/// The options of an embedding.
struct EmbeddingOptions {
  TensorId positions = kNone;  ///< table of positions, or none
  float scale = 1;             ///< factor of token rows
  int64_t still = -1;          ///< id whose row gets no gradient from here; -1: none
};
/// Returns the sum of a row of each table for every id of `ids`, an input: options.scale times the
/// row of `token_table`, plus the row of its position if there are positions. A token table may
/// have several users, such as the classifier and a second embedding. Its gradient is their sum in
/// backward order.
TensorId embedding(GraphBuilder& out, TensorId ids, TensorId token_table,
                   const EmbeddingOptions& options);
inline TensorId embedding(GraphBuilder& out, TensorId ids, TensorId token_table,
                          TensorId position_table = kNone, float scale = 1) {
  return embedding(out, ids, token_table,
                   EmbeddingOptions{.positions = position_table, .scale = scale});
}
extern const Operation kEmbedding, kEmbeddingGrad, kPositionGrad, kEmbeddingAt;

/// Returns `residual`, which may be kNone, plus dropout(x), in an activation named `name`.
TensorId dropout_add(GraphBuilder& out, TensorId x, TensorId residual, float probability,
                     const std::string& name);
extern const Operation kDropoutAdd;  ///< DropoutAttributes

/// Returns a + b in an activation named `name`. Backward uses it for activations with several
/// gradients.
TensorId add(GraphBuilder& out, TensorId a, TensorId b, const std::string& name);
extern const Operation kAdd;

/// Returns (x - mean) / sqrt(variance + epsilon) weight + bias, for each row of x.
TensorId layernorm(GraphBuilder& out, TensorId x, TensorId weight, TensorId bias, float epsilon);
extern const Operation kLayernorm, kLayernormGrad;

/// Returns x / sqrt(mean of x^2 + epsilon) (offset + weight), for each row of x.
TensorId rmsnorm(GraphBuilder& out, TensorId x, TensorId weight, float epsilon, float offset = 0);
extern const Operation kRmsnorm, kRmsnormGrad;

/// The heads in a row of queries, keys and values: `heads` of queries, then `key_heads` of keys and
/// `key_heads` of values, all of one width.
struct PackedHeads {
  int64_t heads = 0, key_heads = 0;
};
struct HeadNormOptions {
  PackedHeads packed;
  TensorId query_weight, key_weight;  ///< [width of a head]; if `whole`, [width of all its heads]
  float epsilon = 0;
  float offset = 0;    ///< added to weights
  bool whole = false;  ///< true: one norm for all heads of a row's queries, and one for its keys
};
/// Returns qkv [rows, (heads + 2 key heads) width] with the RMS norm of queries and of keys. Values
/// are copied.
TensorId head_norm(GraphBuilder& out, TensorId qkv, const HeadNormOptions& options);
extern const Operation kHeadNorm, kHeadNormGrad;

/// The angles of a rotary embedding: a row for each position with the cosines, then the sines, of
/// position * frequency, times a factor. They are computed in double and rounded once.
struct RotaryTable {
  std::vector<double> frequencies;  ///< of each pair; twice as many columns of a head turn
  int64_t positions = 0;
  double factor = 1;
  /// Factor of each position beside `factor`; empty: 1.
  std::vector<double> position_factors = {};
};
/// Returns a table of angles as a constant [positions, 2 pairs], fp32. Equal tables of a graph are
/// one tensor.
TensorId rotary_table(GraphBuilder& out, const RotaryTable& table);
struct RotateOptions {
  PackedHeads packed;
  TensorId table;
  TensorId query_table = kNone;  ///< of queries, if it differs from that of keys
  TensorId first = kNone;        ///< as AttentionOptions: positions count from there
};
/// Returns qkv with queries and keys turned by their positions: of the columns i and i + pairs of a
/// head, (a cos - b sin, b cos + a sin). Copies values, and columns of heads beyond the pairs. In a
/// chunk, kernels::ChunkRow has the positions. Source: Su et al. 2021 (arXiv:2104.09864), eq. 34,
/// with the halves of a head as pairs, as Hugging Face stores them.
TensorId rotate(GraphBuilder& out, TensorId qkv, const RotateOptions& options);
extern const Operation kRotate, kRotateGrad;

enum class Gate : int64_t { silu, gelu_tanh };
/// Returns act(gate) up [rows, width] of x [rows, 2 width], the columns of the gate in front of
/// those of up. act is `gate`. Source: Shazeer 2020 (arXiv:2002.05202).
TensorId gated(GraphBuilder& out, TensorId x, Gate gate);
extern const Operation kGated, kGatedGrad;

/// Returns x weight + bias. `weight` is [in, out]; `bias` may be kNone.
TensorId linear(GraphBuilder& out, TensorId x, TensorId weight, TensorId bias);
extern const Operation kLinear, kLinearInputGrad, kLinearWeightGrad, kLinearBiasGrad;
/// Kinds made by fuse(): h = linear with y = gelu(h); linear + residual. In backward, the gradient
/// of h in y = gelu(h) weight with its sum over rows; the gradients of weight and bias.
extern const Operation kLinearGelu, kLinearAdd, kLinearInputGeluGrad, kLinearParameterGrad;
extern const Operation kRowLinear;  ///< rows are independent

/// Returns the GELU of x in its tanh form, elementwise: Activation::gelu.
TensorId gelu(GraphBuilder& out, TensorId x);
extern const Operation kGelu, kGeluGrad;

/// Returns x Phi(x) elementwise, with the normal distribution Phi; gelu() approximates it by tanh.
TensorId gelu_erf(GraphBuilder& out, TensorId x);
extern const Operation kGeluErf, kGeluErfGrad;

/// Returns max(x, 0), elementwise.
TensorId relu(GraphBuilder& out, TensorId x);
extern const Operation kRelu, kReluGrad;

/// Returns max(x, 0)^2, elementwise.
TensorId squared_relu(GraphBuilder& out, TensorId x);
extern const Operation kSquaredRelu, kSquaredReluGrad;

/// Returns x with values beyond the range of fp16 clamped (Activation::clamp). Returns x itself
/// unless the graph computes in fp16.
TensorId clamp_f16(GraphBuilder& out, TensorId x);
extern const Operation kClamp, kClampGrad;

/// Returns the product a b, elementwise, as for gated activations.
TensorId multiply(GraphBuilder& out, TensorId a, TensorId b);
extern const Operation kMultiply;  ///< also its own gradient

struct ColumnOptions {
  int64_t first = 0;  ///< column of x
  float scale = 1;
};
/// Returns x [rows, all] plus options.scale times `part` [rows, some] in its columns from
/// options.first on.
TensorId add_to_columns(GraphBuilder& out, TensorId x, TensorId part, const ColumnOptions& options);
extern const Operation kAddToColumns, kTakeColumns;

struct AttentionAttributes {
  int64_t heads = 0;
  int64_t head_width = 0;  ///< elements of a head before pad_heads()' zeros; 0: all
  DropoutAttributes dropout = {};
  int64_t both_ways = 0;  ///< 1: queries also see later keys
  double divisor = 0;     ///< see AttentionOptions
  int64_t key_heads = 0;  ///< heads of keys and of values; see AttentionOptions
  int64_t window = 0;
  double cap = 0;
};
struct AttentionOptions {
  int64_t heads;
  float dropout = 0;   ///< probability of dropping attention probabilities
  bool causal = true;  ///< true: a query sees keys up to its own position
  double divisor = 0;  ///< divides scores; 0: the square root of the head width
  /// Added to scores, fp32 [heads, queries + keys - 1]: relative_bias().
  TensorId bias = kNone;
  TensorId key_counts = kNone;  ///< i32 [samples]: number of keys before padding
  /// Heads of keys and of values, each for heads / key_heads heads of queries; 0: as many.
  int64_t key_heads = 0;
  int64_t window = 0;      ///< see kernels::AttentionExtents
  double cap = 0;          ///< see kernels::AttentionExtents
  TensorId first = kNone;  ///< i32 [rows]: see kernels::AttentionInputs
};
/// Returns self-attention of qkv [rows, (heads + 2 key heads) width], with the rows of all samples.
/// In a chunk, causal attention has a cache for each text, and other attention is an encoder's,
/// with all rows of a source. kernels::ChunkRow then gives the key counts.
TensorId attention(GraphBuilder& out, TensorId qkv, const AttentionOptions& options);
/// Returns attention of q [samples * queries, inner width] to kv [samples * keys, 2 * key heads *
/// width], keys beside values. Causal attention needs as many keys as queries. In a chunk, kv are
/// rows of sources, and each source's cache holds their keys and values.
TensorId cross_attention(GraphBuilder& out, TensorId q, TensorId kv,
                         const AttentionOptions& options);
extern const Operation kAttention, kAttentionGrad;            ///< AttentionAttributes
extern const Operation kCrossAttention, kCrossAttentionGrad;  ///< AttentionAttributes
extern const Operation kCachedAttention, kStoreKeys;

struct RelativeBias {
  int64_t queries = 0, keys = 0;
  int64_t max_distance = 128;  ///< larger distances share a bucket
  int64_t bidirectional = 0;   ///< 1: later keys use half of the buckets
};
/// Returns a bias for scores of attention by distance buckets: fp32 [heads, queries + keys - 1],
/// one value per diagonal key - query. The first is for key 0 and the last query. `table` is a
/// parameter [buckets, heads].
TensorId relative_bias(GraphBuilder& out, TensorId table, const RelativeBias& relative);
extern const Operation kRelativeBias, kRelativeBiasGrad;  ///< RelativeBias

/// Made by pad_heads(): a weight as heads one after the other, each wider or narrower than before.
extern const Operation kResizeHeads;  ///< its own gradient, too

/// The distances that a table of relative positions tells apart: kernels::DistanceTable.
struct DistanceRange {
  int64_t buckets = 0;  ///< rows of a side; 0: each distance has a row
  int64_t most_distance = 0;
};
/// Rows [first, first + count) of a matrix.
struct RowRange {
  int64_t first = 0, count = 0;
};
/// Returns the rows of the table of `range` that texts of `length` tokens read.
RowRange rows_by_distance(const DistanceRange& range, int64_t length);

struct DisentangledOperands {
  TensorId q, k, v;  ///< [rows, inner width], heads side by side
  /// Projections of rows_by_distance(), [count, inner width]: queries meet the keys, and keys the
  /// queries.
  TensorId position_keys, position_queries;
};
struct DisentangledOptions {
  int64_t heads;
  DistanceRange range;
  float dropout = 0;            ///< probability of dropping attention probabilities
  TensorId key_counts = kNone;  ///< i32 [samples]: number of tokens before padding
};
/// Returns self-attention of of.q, of.k and of.v whose scores have terms of relative position:
/// kernels::disentangled_attention(). Padding gets zeros.
TensorId disentangled_attention(GraphBuilder& out, const DisentangledOperands& of,
                                const DisentangledOptions& options);
extern const Operation kDisentangledAttention, kDisentangledAttentionGrad;

/// Returns a copy of `rows` of `table`, a matrix, which may be a parameter.
TensorId take_rows(GraphBuilder& out, TensorId table, const RowRange& rows);
/// Returns dropout(x) with this probability, where x has `rows` of a table, for a use of the table
/// by all samples. kernels::drop_rows() says what a mask depends on.
TensorId drop_rows(GraphBuilder& out, TensorId x, const RowRange& rows, float probability);
extern const Operation kDropRows;
/// Returns a copy of the first row of each sample of x, [samples, width].
TensorId first_rows(GraphBuilder& out, TensorId x);
extern const Operation kTakeRows, kTakeRowsGrad;

/// Returns each row of x with the rows before and behind it at its sides, [rows, 3 width], with
/// zeros at both ends of a sample. linear() of the result is a convolution over three places.
TensorId neighbour_rows(GraphBuilder& out, TensorId x);
extern const Operation kNeighbourRows, kNeighbourRowsGrad;

/// Returns x with zeros in the rows of each sample from counts[sample] on; `counts` is i32
/// [samples].
TensorId clear_padding(GraphBuilder& out, TensorId x, TensorId counts);
extern const Operation kClearPadding;  ///< its own gradient, too

struct LabelOperands {
  TensorId logits;      ///< [samples, classes]
  TensorId labels;      ///< one a sample
  bool scores = false;  ///< true: logits are also an output, in fp32: kScoresOutput
};
/// Adds the cross entropy of of.logits to the step's sums, for every sample with a label. Labels
/// are i32; -1 does not count. REQUIRES: the graph is for a micro-batch.
void class_loss(GraphBuilder& out, const LabelOperands& of);
extern const Operation kClassLoss, kClassLossGrad;

/// Adds the square of logit - label to the step's sums, for every sample. Labels are fp32; NaN does
/// not count. REQUIRES: one logit a sample, and the graph is for a micro-batch.
void squared_loss(GraphBuilder& out, const LabelOperands& of);
extern const Operation kSquaredLoss, kSquaredLossGrad;

struct ClassifierOptions {
  int64_t vocabulary = 0;  ///< real classes
  int64_t chunk_rows = 0;  ///< rows whose logits exist at the same time
  float logit_scale = 1;   ///< factor of x table^T
  /// Share of the loss that is the mean of -log p over the real classes; 0 in evaluations.
  float label_smoothing = 0;
  /// [rows of table], added to logits. Not trained: a parameter here must not decay, and its
  /// gradient is zero.
  TensorId logit_bias = kNone;
  /// [rows of table], added to logits, and trained. It excludes logit_bias and a logit_scale.
  TensorId bias = kNone;
  float cap = 0;       ///< limits scaled logits z to cap tanh(z / cap); 0: no limit
  bool skips = false;  ///< see kernels::ClassifierOptions
};
struct ClassifierAttributes {
  int64_t vocabulary = 0;  ///< real classes
  int64_t chunk_rows = 0;
  double logit_scale = 1;
  double label_smoothing = 0;
  int64_t trains_bias = 0;  ///< 1: the bias has a gradient
  double cap = 0;
  int64_t skips = 0;
};
/// Adds the loss of every counted target, by the logits x table^T, to the step's sums. `targets`
/// are an input with a class, or -1, for each row of x. REQUIRES: the graph is for a micro-batch.
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
  float cap = 0;          ///< as ClassifierOptions
};
/// Adds the output kLogitsOutput, [texts, vocabulary] in fp32: the logits x table^T of the
/// requested rows of x. REQUIRES: the graph is for a chunk.
void logits(GraphBuilder& out, TensorId x, TensorId table, const LogitOptions& options);
void logits(GraphBuilder& out, TensorId x, TensorId table, int64_t vocabulary);
extern const Operation kLogits;

}  // namespace zero::graph
