#pragma once
/// A micro-batch, or a chunk of continued texts, as data: tensors, and ops in program order. A
/// tensor is storage with a name. An op reads its inputs and writes its outputs, and updates a
/// tensor on both sides in place. Program order defines the meaning; plans reorder ops only if the
/// meaning stays.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/base/error.hpp"
#include "zero/base/shape.hpp"
#include "zero/graph/stored_form.hpp"

namespace zero::graph {

using TensorId = int32_t;
inline constexpr TensorId kNone = -1;

enum class Role : uint8_t {
  input,  ///< listed in Graph::inputs
  parameter,
  gradient,    ///< gradient of a parameter for one micro-batch
  activation,  ///< value of the forward pass or its gradient
  state,       ///< step state and step sums
  cache,       ///< keys and values of earlier tokens, kept between chunks
  constant,    ///< listed in Graph::constants, written once before any op
  output       ///< read by the host after all ops
};

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::f32;
  Shape shape;
  Role role = Role::activation;
  TensorId parameter = kNone;  ///< Role::gradient: the parameter that it belongs to

  int64_t bytes() const { return shape.numel() * int64_t(bytes_of(dtype)); }
};

/// The settings of an op beside its tensors: a small struct of its kind. Each member has eight
/// bytes (int64_t, double), because ops are compared and hashed as words.
class Attributes {
 public:
  Attributes() = default;
  template <class T>
  requires(!std::is_same_v<T, Attributes>) Attributes(const T& value) : type_(&kType<T>) {
    static_assert(members<T>() * sizeof(uint64_t) == sizeof(T), "members of eight bytes each");
    const auto own = std::bit_cast<std::array<uint64_t, members<T>()>>(value);
    words_.assign(own.begin(), own.end());
  }

  /// Returns the settings as a T. Throws Error(kInternal) if they are of another type.
  template <class T>
  T as() const {
    ZERO_REQUIRE(type_ == &kType<T>, "attributes of another kind of op");
    std::array<uint64_t, sizeof(T) / sizeof(uint64_t)> own;
    std::copy_n(words_.begin(), own.size(), own.begin());
    return std::bit_cast<T>(own);
  }

  std::span<const uint64_t> words() const { return words_; }
  bool operator==(const Attributes&) const = default;

 private:
  /// A stand-in for any number, to count members, including those of nested structs.
  struct Any {
    template <class T>
    requires std::is_arithmetic_v<T>
    operator T() const;
  };
  template <class T, size_t... I>
  static constexpr bool takes(std::index_sequence<I...>) {
    return requires { T{(void(I), Any{})...}; };
  }
  template <class T, size_t N = sizeof(T) / sizeof(uint64_t)>
  static constexpr size_t members() {
    if constexpr (N > 0 && !takes<T>(std::make_index_sequence<N>{})) return members<T, N - 1>();
    return N;
  }
  template <class T>
  static constexpr char kType = 0;

  const void* type_ = nullptr;
  std::vector<uint64_t> words_;
};

/// The kind of an op (operation.hpp). Ops of one kind point to the same Operation.
struct Operation;
using OpKind = const Operation*;

struct Op {
  OpKind kind;
  std::vector<TensorId> inputs;  ///< kNone for an absent optional input
  std::vector<TensorId> outputs;
  Attributes attributes = {};  ///< settings in the kind's own type
  int32_t unit = 0;            ///< unit that the code belongs to; recompute policies use it
  bool backward = false;       ///< appended by differentiate(), or a recomputed copy
  bool repeated = false;       ///< a recomputed copy
};

enum class Init : uint8_t { zeros, ones, normal };

struct Parameter {
  TensorId tensor;
  int32_t unit;  ///< gathered and released as a whole
  bool decays;   ///< weight decay applies: to matrices and embeddings, not biases and norms
  Init init;
  float deviation = 0;        ///< under Init::normal, except in the front columns
  int64_t columns = 0;        ///< extent of a row
  int64_t front_columns = 0;  ///< columns with front_deviation
  float front_deviation = 0;
  TensorId gradient = kNone;  ///< set by differentiate(); kNone if frozen
  bool frozen = false;        ///< set by freeze(): read, not trained
  /// Frozen, and stored in the model folder that the run begins with, not in checkpoints.
  bool borrowed = false;
  int64_t real_numel = 0;  ///< elements before the padding, which is always zero
  StoredForm stored = {};  ///< tensors that hold it in files

  /// Returns the deviation of the initial value of one element, given by its index in the tensor,
  /// under Init::normal.
  float deviation_of(int64_t element) const {
    return front_columns > 0 && element % columns < front_columns ? front_deviation : deviation;
  }
};

/// The writer of an input. It fills the input before any op reads it.
enum class FilledBy : uint8_t {
  data,       ///< the loader, from the sample column of this name
  step,       ///< the executor, with facts of the step or chunk
  generation  ///< the generator of a text, with its next tokens
};

/// A tensor that the host writes. The first extent covers all samples of the micro-batch.
struct Input {
  TensorId tensor = kNone;
  FilledBy filled_by = FilledBy::data;
  int64_t ids = 0;  ///< values are ids below this, or -1; 0: values are not ids
};

/// A tensor whose values, in fp32, never change. Copies of a graph share them.
struct Constant {
  TensorId tensor = kNone;
  std::shared_ptr<const std::vector<float>> values = {};
};

/// A tensor that the host reads.
struct Output {
  std::string name;
  TensorId tensor = kNone;
};
inline constexpr const char* kLossOutput = "loss";      ///< the step sums, which include the loss
inline constexpr const char* kLogitsOutput = "logits";  ///< logits that follow tokens of a chunk
inline constexpr const char* kScoresOutput = "scores";  ///< logits of a micro-batch's samples

// Inputs of a chunk beside its tokens. kernels::DecodeInputs holds their counts.
inline constexpr const char* kRowsInput = "rows";             ///< a kernels::ChunkRow for each row
inline constexpr const char* kMovesInput = "moves";           ///< a kernels::CacheMove each
inline constexpr const char* kLogitRowsInput = "logit rows";  ///< rows whose logits are read

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  /// In unit order, unless freeze() moved them. The index seeds initial values.
  std::vector<Parameter> parameters;
  std::string prefix;  ///< prefix of parameter names in saved files
  std::vector<std::string> unit_names;
  /// Units whose forward code may be repeated in backward, in forward order.
  std::vector<int32_t> blocks;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Constant> constants = {};
  TensorId step_inputs = kNone, step_state = kNone;
  TensorId decode_inputs = kNone;  ///< step inputs of a graph that continues texts
  int64_t samples = 0;             ///< samples of the micro-batch; 1 for a chunk
  int64_t length = 0;              ///< data.sequence_length; for a chunk, its rows

  /// Returns the tensor of the input of this name. output(): of the output. Throws Error(kInternal)
  /// if there is none.
  TensorId input(std::string_view name) const;
  TensorId output(std::string_view name) const;

  const Tensor& operator[](TensorId id) const { return tensors[size_t(id)]; }
};

/// Returns, for each tensor of a graph, its index in graph.parameters, or kNone if it is no
/// parameter.
std::vector<int32_t> parameter_index(const Graph& graph);

/// True if any parameter of a graph is borrowed.
bool borrows(const Graph& graph);

/// Returns the number of elements in all frozen parameters of a graph, without padding.
int64_t frozen_numel(const Graph& graph);

/// Returns the index in graph.ops of the first backward op; ops.size() if there is none.
int32_t first_backward_op(const Graph& graph);

}  // namespace zero::graph
