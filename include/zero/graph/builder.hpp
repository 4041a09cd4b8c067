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
  /// So many columns, the first of each row, have a deviation of their own, of Init::normal.
  int64_t front_columns = 0;
  float front_deviation = 0;
  int64_t padding_rows = 0;  ///< of shape[0], the last: always zero
};

/// An input that a model reads: of a micro-batch filled by data, of a chunk by generation.
struct InputSpec {
  std::string name;
  Shape sample;  ///< one sample's part; the tensor has so many times its first extent
  Dtype dtype = Dtype::i32;
  int64_t ids = 0;  ///< as Input::ids
};

struct MicroBatch {
  int64_t samples;
  int64_t length;
  /// What a second text of a sample has, which an encoder reads; 0: as many as the first, if there
  /// is one.
  int64_t source_length = 0;
};

/// Rows of a graph that continues one text: tokens of a chunk, and tokens that its caches hold.
struct Chunk {
  int64_t length;
  int64_t context;
};

/// A forward graph while it is written, op by op, for a micro-batch or for a chunk of a text. A
/// model writes it with the verbs of operations.hpp; these write it with add() and what is beside
/// it.
class GraphBuilder {
 public:
  GraphBuilder(const MicroBatch& micro, Dtype compute);
  GraphBuilder(const Chunk& chunk, Dtype compute);

  /// Begins a unit, or goes back to one of the same name. Returns its number.
  int32_t unit(const std::string& name);
  /// Begins a unit whose code recompute() may repeat.
  int32_t block(const std::string& name);
  TensorId parameter(const ParameterSpec& spec);
  TensorId input(const InputSpec& spec);
  /// The length of MicroBatch or Chunk.
  int64_t length() const { return graph_.length; }
  Graph finish();

  // What verbs need.
  const Graph& graph() const { return graph_; }
  const Tensor& operator[](TensorId id) const { return graph_[id]; }
  Dtype compute() const { return compute_; }
  /// Whether a text is continued, and how many tokens its caches hold.
  bool continues() const { return context_ > 0; }
  int64_t context() const { return context_; }
  TensorId activation(const std::string& name, Dtype dtype, const Shape& shape);
  /// A tensor that outlives the graph's ops.
  TensorId lasting(const std::string& name, Dtype dtype, const Shape& shape, Role role);
  /// A tensor that the host reads by its name.
  TensorId output(const std::string& name, Dtype dtype, const Shape& shape);
  /// Numbers the uses of dropout.
  int64_t next_site() { return sites_++; }
  /// The op becomes code of the unit begun last.
  void add(Op op);

 private:
  TensorId add_input(const Tensor& tensor, FilledBy filled_by, int64_t ids);
  TensorId add_tensor(Tensor tensor);

  Graph graph_;
  Dtype compute_;
  int64_t context_ = 0;  ///< tokens of a cache; 0: a micro-batch
  int32_t unit_ = -1;
  int64_t sites_ = 0;
};

}  // namespace zero::graph
