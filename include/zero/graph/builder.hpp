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

/// Rows of a graph that continues texts: tokens of any of them, or of the sources that an encoder
/// reads for them. Both graphs of a plan have the same caches.
struct Chunk {
  int64_t length;              ///< rows
  int64_t context;             ///< tokens that a text's cache holds
  int64_t texts = 1;           ///< that have a cache
  int64_t source_context = 0;  ///< tokens that a source's cache holds; 0: there is no encoder
  int64_t sources = 0;         ///< that have a cache
  bool encodes = false;        ///< rows are tokens of sources
};

/// Which texts the current ops work on; a model with an encoder has both sides.
enum class Side { text, source };

/// A forward graph while it is written, op by op, for a micro-batch or for a chunk of texts. A
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
  /// Ops from here on are for this side's rows. A micro-batch has both; a chunk leaves out those of
  /// the other side and what only they read, but for parameters, caches and outputs.
  void turn_to(Side side) { side_ = side; }
  Graph finish();

  // What verbs need.
  const Graph& graph() const { return graph_; }
  const Tensor& operator[](TensorId id) const { return graph_[id]; }
  Dtype compute() const { return compute_; }
  /// Whether texts are continued.
  bool continues() const { return chunk_.context > 0; }
  const Chunk& chunk() const { return chunk_; }
  /// Tokens that a cache of this side holds; of a chunk.
  int64_t context() const { return side_ == Side::text ? chunk_.context : chunk_.source_context; }
  Side side() const { return side_; }
  /// Where a chunk's rows stand, which caches move, whose logits are wanted.
  TensorId chunk_input(const char* name) const { return graph_.input(name); }
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
  void drop_unread_inputs();

  Graph graph_;
  Dtype compute_;
  Chunk chunk_{0, 0};  ///< a context of 0: there is a micro-batch
  Side side_ = Side::text;
  int32_t unit_ = -1;
  int64_t sites_ = 0;
};

}  // namespace zero::graph
