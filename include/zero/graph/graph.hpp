#pragma once
/// One micro-batch, or one chunk of a text that is continued, as data: tensors, and ops in program
/// order. A tensor is storage with a name; an op reads its inputs and writes its outputs; a tensor
/// on both sides is updated in place. Program order gives the meaning; plans reorder only what that
/// meaning allows.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/base/error.hpp"
#include "zero/base/shape.hpp"

namespace zero::graph {

using TensorId = int32_t;
inline constexpr TensorId kNone = -1;

enum class Role : uint8_t {
  input,  ///< one of Graph::inputs
  parameter,
  gradient,    ///< of a parameter, one micro-batch's
  activation,  ///< of the forward pass, its gradients included
  state,       ///< step state and step sums
  cache,       ///< keys and values of the tokens so far: kept from chunk to chunk
  output       ///< read by the host when all has run
};

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::f32;
  Shape shape;
  Role role = Role::activation;
  TensorId parameter = kNone;  ///< Role::gradient: the parameter it belongs to

  int64_t bytes() const { return shape.numel() * int64_t(bytes_of(dtype)); }
};

/// What an op knows beside its tensors: a small struct of its kind's own, whose members have eight
/// bytes each (int64_t, double), so that two ops can be compared and hashed without knowing it.
class Attributes {
 public:
  Attributes() = default;
  template <class T>
  requires(!std::is_same_v<T, Attributes>) Attributes(const T& value) : type_(&kType<T>) {
    static_assert(members<T>() * sizeof(uint64_t) == sizeof(T), "members of eight bytes each");
    const auto own = std::bit_cast<std::array<uint64_t, members<T>()>>(value);
    words_.assign(own.begin(), own.end());
  }

  /// Throws Error(kInternal) where it is not a T.
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
  /// Stands for any number, to count members by, those of structs within included.
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

/// What an op does (operation.hpp): two ops are of one kind where these are equal.
struct Operation;
using OpKind = const Operation*;

struct Op {
  OpKind kind;
  std::vector<TensorId> inputs;  ///< kNone where an optional input is absent
  std::vector<TensorId> outputs;
  Attributes attributes = {};  ///< of its kind
  int32_t unit = 0;            ///< that whose code it is: recompute policies choose by it
  bool backward = false;       ///< appended by differentiate() or a recomputed copy
  bool repeated = false;       ///< a recomputed copy
};

enum class Init : uint8_t { zeros, ones, normal };

struct Parameter {
  TensorId tensor;
  int32_t unit;  ///< gathered and released together
  bool decays;   ///< weight decay applies: matrices and embeddings, no biases or norms
  Init init;
  float deviation = 0;        ///< of Init::normal, but for the first columns of each row
  int64_t columns = 0;        ///< of a row
  int64_t front_columns = 0;  ///< those whose deviation is front_deviation
  float front_deviation = 0;
  TensorId gradient = kNone;  ///< set by differentiate(); none of a frozen one
  bool frozen = false;        ///< not trained: set by freeze()
  int64_t real_numel = 0;     ///< elements from here on are padding and always zero
  /// Tensors of Hugging Face's files that stand side by side in its rows, equally wide.
  int32_t tensors = 1;

  /// An element's deviation by its place in the tensor, of Init::normal.
  float deviation_of(int64_t element) const {
    return front_columns > 0 && element % columns < front_columns ? front_deviation : deviation;
  }
};

/// The writer of an input, which fills it before the ops that read it run.
enum class FilledBy : uint8_t {
  data,       ///< the loader, from the column of its name in every sample
  step,       ///< the executor, with what it is told of the step or of the chunk
  generation  ///< whoever continues a text, with its next tokens
};

/// What the host writes. Name, dtype and shape are the tensor's; the first extent counts those of
/// all samples of the micro-batch.
struct Input {
  TensorId tensor = kNone;
  FilledBy filled_by = FilledBy::data;
  int64_t ids = 0;  ///< its numbers are ids below this, or -1; 0: they are none
};

/// What the host reads.
struct Output {
  std::string name;
  TensorId tensor = kNone;
};
inline constexpr const char* kLossOutput = "loss";      ///< the step sums, of which it is one
inline constexpr const char* kLogitsOutput = "logits";  ///< those behind tokens of a chunk

// Inputs of a chunk beside its tokens, whose number kernels::DecodeInputs says.
inline constexpr const char* kRowsInput = "rows";             ///< kernels::ChunkRow of each row
inline constexpr const char* kMovesInput = "moves";           ///< kernels::CacheMove
inline constexpr const char* kLogitRowsInput = "logit rows";  ///< whose logits are wanted

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<Parameter> parameters;  ///< in unit order but for freeze(); the index seeds
                                      ///< initialisation
  std::string prefix;                 ///< before the names of parameters where they are saved
  std::vector<std::string> unit_names;
  /// Units whose forward code may run again in the backward pass, in their order.
  std::vector<int32_t> blocks;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  TensorId step_inputs = kNone, step_state = kNone;
  TensorId decode_inputs = kNone;  ///< of a graph that continues texts, its step inputs
  int64_t samples = 0;             ///< of the micro-batch; of a chunk 1
  int64_t length = 0;              ///< of data.sequence_length; of a chunk its rows

  /// The tensor of the input or output of a name. Throws Error(kInternal) where there is none.
  TensorId input(std::string_view name) const;
  TensorId output(std::string_view name) const;

  const Tensor& operator[](TensorId id) const { return tensors[size_t(id)]; }
};

/// Index into graph.parameters of a parameter's tensor; kNone for any other tensor.
/// [tensors.size()]
std::vector<int32_t> parameter_index(const Graph& graph);

/// Elements of frozen parameters, without padding.
int64_t frozen_numel(const Graph& graph);

/// Where the backward pass begins; ops.size() where there is none.
int32_t first_backward_op(const Graph& graph);

}  // namespace zero::graph
