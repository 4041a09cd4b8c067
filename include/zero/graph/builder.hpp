#pragma once

#include <string>

#include "zero/graph/graph.hpp"

namespace zero::graph {

struct ParameterSpec {
  std::string name;
  Shape shape;
  bool decays = true;
  Init init = Init::normal;
  float deviation = 0.02f;
  int64_t padding_rows = 0;  ///< of shape[0], the last: always zero
};

struct MicroBatch {
  int64_t samples;
  int64_t length;
};

/// Rows of a graph that continues one text: tokens of a chunk, and tokens that its caches hold.
struct Chunk {
  int64_t length;
  int64_t context;
};

/// Writes a forward graph op by op, for a micro-batch or for a chunk of a text: the same verbs
/// append the ops with a loss or a cache in view. Each verb checks shapes (Error(kInternal) naming
/// both tensors), adds one op, and returns its output. Ops and parameters belong to the unit begun
/// last.
class GraphBuilder {
 public:
  GraphBuilder(const MicroBatch& micro, Dtype compute);
  /// Embedding, attention and products become the kinds that go with a cache; nothing is dropped.
  GraphBuilder(const Chunk& chunk, Dtype compute);

  /// Begins a unit, or goes back to one of the same name. Returns its number.
  int32_t unit(const std::string& name);
  /// Begins a unit whose code recompute() may repeat.
  int32_t block(const std::string& name);
  TensorId parameter(const ParameterSpec& spec);

  TensorId embedding(TensorId token_table, TensorId position_table);
  TensorId dropout_add(TensorId x, TensorId residual, float probability, const std::string& name);
  TensorId layernorm(TensorId x, TensorId weight, TensorId bias, float epsilon);
  TensorId linear(TensorId x, TensorId weight, TensorId bias);
  TensorId gelu(TensorId x);
  /// With a cache of its own where the text is continued.
  /// `head_width`: of a head without zeros at its end; 0: it has none.
  TensorId attention(TensorId qkv, int64_t heads, float dropout, int64_t head_width = 0);
  /// `weight` as `heads` heads behind each other, as many times wider as `shape` is larger.
  TensorId resize_heads(TensorId weight, int64_t heads, const Shape& shape);
  /// Of a chunk: logits [vocabulary] in fp32, for the host.
  void logits(TensorId x, TensorId table, int64_t vocabulary);
  /// Of a micro-batch: adds the loss of every counted target to the step's sums.
  void classifier(TensorId x, TensorId table, int64_t vocabulary, int64_t chunk_rows);

  Graph finish();

 private:
  bool continues() const { return context_ > 0; }
  TensorId cached_attention(TensorId qkv, int64_t heads);
  /// A tensor that outlives the graph's ops.
  TensorId lasting(const std::string& name, Dtype dtype, const Shape& shape, Role role);
  TensorId add_tensor(Tensor tensor);
  TensorId activation(const std::string& name, Dtype dtype, const Shape& shape);
  void add_op(Op op);

  Graph graph_;
  Dtype compute_;
  int64_t context_ = 0;  ///< tokens of a cache; 0: a micro-batch
  int32_t unit_ = -1;
  uint32_t sites_ = 0;
};

}  // namespace zero::graph
