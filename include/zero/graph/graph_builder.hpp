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
  /// Columns at the front of each row with a deviation of their own, under Init::normal.
  int64_t front_columns = 0;
  float front_deviation = 0;
  int64_t padding_rows = 0;  ///< last rows of shape[0]; always zero
  StoredForm stored = {};    ///< without names: one tensor under the parameter's name
};

/// An input of a model. Data fill it for a micro-batch, generation for a chunk.
struct InputSpec {
  std::string name;
  Shape sample;  ///< shape for one sample; the tensor has `samples` times the first extent
  Dtype dtype = Dtype::i32;
  int64_t ids = 0;  ///< see Input::ids
};

struct MicroBatch {
  int64_t samples;
  int64_t length;
  /// Tokens of a sample's source, which an encoder reads. 0: `length`, if there is an encoder.
  int64_t source_length = 0;
};

/// The rows of a graph that continues texts: tokens of any of these texts, or of sources for the
/// encoder. Both graphs of a plan share the caches.
struct Chunk {
  int64_t length;              ///< rows
  int64_t context;             ///< tokens in the cache of a text
  int64_t texts = 1;           ///< texts with a cache
  int64_t source_context = 0;  ///< tokens in the cache of a source; 0: no encoder
  int64_t sources = 0;         ///< sources with a cache
  bool encodes = false;        ///< true: rows are tokens of sources
  /// Maximum rows of either graph of the plan. Caches of layers with a window then keep no more
  /// than the rows of a chunk can see. 0: unknown, so they keep the context.
  int64_t most_rows = 0;
};

/// The texts that an op works on. Models with an encoder have both sides.
enum class Side { text, source };

/// A forward graph in progress, for a micro-batch or for a chunk. Models write it with the verbs of
/// operations.hpp, which call add() and the members beside it.
class GraphBuilder {
 public:
  /// Begins the graph of a micro-batch, with parameters and activations of dtype `compute`.
  GraphBuilder(const MicroBatch& micro, Dtype compute);
  /// Begins the graph of a chunk of continued texts, with the same dtypes.
  GraphBuilder(const Chunk& chunk, Dtype compute);
  /// Begins with a `graph` whose ops were taken away, for an alteration that adds them again, and
  /// others. Verbs that drop or keep caches do not fit.
  explicit GraphBuilder(Graph graph);

  /// Begins a unit of this name, or continues it if there is one. Returns its number.
  int32_t unit(const std::string& name);
  /// Begins a unit, as unit(), whose forward code recompute() may repeat. Returns its number.
  int32_t block(const std::string& name);
  /// Adds a parameter to the unit begun last, and returns its tensor.
  TensorId parameter(const ParameterSpec& spec);
  /// Adds an input for the samples of the micro-batch or chunk, and returns its tensor.
  TensorId input(const InputSpec& spec);
  /// Returns the length of this graph's MicroBatch or Chunk.
  int64_t length() const { return graph_.length; }
  /// Assigns the next ops to the rows of `side`. A chunk omits ops of its other side and inputs
  /// that only they read. Parameters, caches and outputs stay.
  void turn_to(Side side) { side_ = side; }
  /// Returns the finished graph and leaves the builder empty.
  Graph finish();

  // The following members serve the verbs.
  const Graph& graph() const { return graph_; }
  const Tensor& operator[](TensorId id) const { return graph_[id]; }
  Dtype compute() const { return compute_; }
  /// True if this graph is for a chunk, so continues texts.
  bool continues() const { return chunk_.context > 0; }
  const Chunk& chunk() const { return chunk_; }
  /// Returns the number of tokens in a cache of the side set by turn_to(). REQUIRES: the graph
  /// continues texts.
  int64_t context() const { return side_ == Side::text ? chunk_.context : chunk_.source_context; }
  Side side() const { return side_; }
  /// Returns the input of a chunk with this name: kRowsInput, kMovesInput or kLogitRowsInput.
  TensorId chunk_input(const char* name) const { return graph_.input(name); }
  /// Adds an activation of this name, dtype and shape, and returns its tensor.
  TensorId activation(const std::string& name, Dtype dtype, const Shape& shape);
  /// Adds a tensor that outlives the ops of the graph, and returns it.
  TensorId lasting(const std::string& name, Dtype dtype, const Shape& shape, Role role);
  /// Adds a constant and returns its tensor, or returns the constant with this shape and these
  /// values. `values` fill `shape`, in fp32.
  TensorId constant(const std::string& name, const Shape& shape, std::vector<float> values);
  /// Adds an output, which the host reads by its name, and returns its tensor.
  TensorId output(const std::string& name, Dtype dtype, const Shape& shape);
  /// Returns the number of the next use of dropout in this graph, from 0, and counts it.
  int64_t next_site() { return sites_++; }
  /// Appends `op` to the unit begun last, unless it is for the other side of a chunk.
  void add(Op op);

 private:
  TensorId add_input(const Tensor& tensor, FilledBy filled_by, int64_t ids);
  TensorId add_tensor(Tensor tensor);
  void drop_unread_inputs();

  Graph graph_;
  Dtype compute_;
  Chunk chunk_{0, 0};  ///< a context of 0: the graph is for a micro-batch
  Side side_ = Side::text;
  int32_t unit_ = -1;
  int64_t sites_ = 0;
};

}  // namespace zero::graph
