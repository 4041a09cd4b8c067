#pragma once
/// A kind of op as a constant with everything that other rooms ask of it. Each is defined in
/// src/graph/ops/<kind>.cpp and listed in operations.hpp.

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/graph/graph.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {

/// The address of an operand; null if absent. Converts to any typed pointer.
struct Address {
  void* at = nullptr;

  template <class T>
  operator T*() const {
    return static_cast<T*>(at);
  }
  bool operator==(std::nullptr_t) const { return at == nullptr; }
};

/// A call of one op, with operands resolved to addresses.
struct OpCall {
  const Graph* graph;
  const Op* op;
  std::span<void* const> operands;  ///< op->inputs, then op->outputs
  Address scratch = {};             ///< scratch_bytes() bytes
  int64_t sample_offset = 0;        ///< first sample of the micro-batch, counted within the step
  bool sums = false;                ///< the first output is an fp32 sum: Operation::sums
  bool add = false;                 ///< the call adds to this sum instead of writing it
};

inline double no_flops(const Graph&, const Op&) { return 0; }
inline int64_t nothing(const Graph&, const Op&) { return 0; }
inline int64_t no_scratch(const Graph&, const Op&, int) { return 0; }
/// Returns the bytes of all of an op's inputs and outputs together.
int64_t operand_bytes(const Graph& graph, const Op& op);

/// The heads of attention, side by side in the rows of tensors. pad_heads() reads them.
struct AttentionHeads {
  struct Side {
    TensorId tensor;
    int64_t heads;  ///< of queries, keys and values together
  };
  std::vector<Side> read;
  Side written;
  int64_t width;  ///< elements per head
};

struct Operation {
  std::string_view name;
  /// Returns the number of floating-point operations of an op in products and attention; 0 for
  /// memory-bound ops.
  double (*flops)(const Graph& graph, const Op& op) = no_flops;
  /// Returns the number of exponentials that an op computes beside products: of attention scores,
  /// of a classifier's logits.
  int64_t (*exponentials)(const Graph& graph, const Op& op) = nothing;
  /// Returns the bytes that the op reads and writes once. They bound elementwise ops.
  int64_t (*traffic_bytes)(const Graph& graph, const Op& op) = operand_bytes;
  /// Returns the bytes of scratch that the op's kernel needs with `threads` threads.
  int64_t (*scratch_bytes)(const Graph& graph, const Op& op, int threads) = no_scratch;
  /// Appends to `tape` the ops that compute the gradients of op's inputs; null: no gradient.
  void (*gradient)(GradientTape& tape, const Op& op) = nullptr;
  /// True: this op ends the forward pass, and its gradient op also computes the loss.
  bool is_loss = false;
  /// The lowest choice of recompute() that repeats this op. Recompute::selective: cheap compared to
  /// the bytes that it saves. Recompute::none: its output is never kept.
  Recompute repeated_from = Recompute::full;
  /// True: the first output is a weight gradient, which the op can write to or add to an fp32 sum.
  bool sums = false;
  /// Returns one op that replaces `first`, of this kind, and the next op, `second`. Returns nothing
  /// if no kernel does both. `shared`: other ops read the first output of `first`.
  std::optional<Op> (*fuse)(const Op& first, const Op& second, bool shared) = nullptr;
  /// Extends `op`, of this kind, by the outputs of `reader`, a later op that reads one of its
  /// outputs, if the kernel computes them anyway. Returns true if so, else leaves `op` unchanged.
  /// Null: never.
  bool (*take_in)(Op& op, const Op& reader) = nullptr;
  /// Returns the number of random numbers that the op draws anew for each micro-batch.
  int64_t (*draws)(const Graph& graph, const Op& op) = nothing;
  /// Returns the heads that the op reads and writes; null: none.
  AttentionHeads (*heads)(const Graph& graph, const Op& op) = nullptr;
  /// Sets in `op` the number of elements of each head before its zeros; null: no heads.
  void (*set_head_width)(Op& op, int64_t width) = nullptr;
  bool linear = false;  ///< y = x weight + bias; inputs are x, weight and bias, which may be kNone
  /// Returns the weight [in, out] that the kernel of the op reads as kernels::WeightPanels; null:
  /// none.
  TensorId (*panelled)(const Op& op) = nullptr;

  /// Calls the kernel with the operands of `call`. Asynchronous on `stream`. Allocates nothing.
  void (*call)(Stream& stream, const OpCall& call) = nullptr;
  /// True: on its first call a device measures the best way to call the kernel. For kinds with
  /// flops.
  bool rehearsed = true;
  /// Creates the objects that the first such call() on this thread would create; null: none.
  void (*prepare)(Stream& stream, const OpCall& call) = nullptr;
};

/// Returns the first output of an op, the subject of Operation::sums and Operation::fuse.
inline TensorId main_output(const Op& op) { return op.outputs.front(); }
/// Returns the output of an op that its kind can write as a sum; kNone if none.
inline TensorId sum_output(const Op& op) { return op.kind->sums ? main_output(op) : kNone; }

/// Calls the kernel of the op in `call` with its operands. Asynchronous on `stream`. Allocates
/// nothing. Throws Error(kInternal) if operands are missing.
void call(Stream& stream, const OpCall& call);

/// Creates the product kernels that the first call() of this op on this thread would create, to
/// find refusals early. Touches no operand.
void prepare(Stream& stream, const OpCall& call);

/// Returns the dtype of an op's kernel: that of its first floating-point input.
Dtype compute_dtype(const Graph& graph, const Op& op);

// Names for operands. A kind has two templates, In and Out, with one type parameter, the type of
// every member. Members are tensors in a graph and addresses in a kernel call. An absent input is
// kNone in the op's list. Optional operands default to kAbsent and come last. The list ends before
// absent ones.

template <class Slot>
inline constexpr Slot kAbsent{};
template <>
inline constexpr TensorId kAbsent<TensorId> = kNone;

template <class Named, class Slot>
using Slots = std::array<Slot, sizeof(Named) / sizeof(Slot)>;

template <class Kind>
using Inputs = typename Kind::template In<TensorId>;
template <class Kind>
using Outputs = typename Kind::template Out<TensorId>;

/// Returns the number of operands of `named`, an In or Out, without absent ones at its end.
/// Outputs<Kind>{} has the operands that every op has.
template <class Named>
constexpr size_t present(const Named& named) {
  const auto slots = std::bit_cast<Slots<Named, TensorId>>(named);
  size_t count = slots.size();
  while (count > 0 && slots[count - 1] == kNone) --count;
  return count;
}

/// Returns the operands of `list`, in order, as an In or Out with members of type Slot. Operands
/// behind its end are absent. Throws Error(kInternal) for fewer than `required` or too many.
template <class Named, class Slot, class From>
Named named(const From& list, size_t required) {
  Slots<Named, Slot> slots;
  ZERO_REQUIRE(list.size() >= required && list.size() <= slots.size(), "an op has ", list.size(),
               " operands where ", slots.size(), " have names");
  slots.fill(kAbsent<Slot>);
  for (size_t i = 0; i < list.size(); ++i) slots[i] = Slot{list[i]};
  return std::bit_cast<Named>(slots);
}

/// Returns the inputs of an op, or of a call as addresses, by their names. outputs(): its outputs.
template <class Kind>
Inputs<Kind> inputs(const Op& op) {
  return named<Inputs<Kind>, TensorId>(op.inputs, present(Inputs<Kind>{}));
}
template <class Kind>
Outputs<Kind> outputs(const Op& op) {
  return named<Outputs<Kind>, TensorId>(op.outputs, present(Outputs<Kind>{}));
}
template <class Kind>
typename Kind::template In<Address> inputs(const OpCall& call) {
  return named<typename Kind::template In<Address>, Address>(
      call.operands.first(call.op->inputs.size()), present(Inputs<Kind>{}));
}
template <class Kind>
typename Kind::template Out<Address> outputs(const OpCall& call) {
  return named<typename Kind::template Out<Address>, Address>(
      call.operands.subspan(call.op->inputs.size()), present(Outputs<Kind>{}));
}

/// Replaces the outputs of `op` by `out`.
template <class Kind>
void set_outputs(Op& op, const Outputs<Kind>& out) {
  const auto slots = std::bit_cast<Slots<Outputs<Kind>, TensorId>>(out);
  op.outputs.assign(slots.begin(), slots.begin() + present(out));
}

/// Returns an op of kind `kind` with the inputs `in`, the outputs `out`, both named as Kind names
/// them, and its settings `attributes`.
template <class Kind>
Op make_op(const Operation& kind, const Inputs<Kind>& in, const Outputs<Kind>& out,
           const Attributes& attributes = {}) {
  const auto slots = std::bit_cast<Slots<Inputs<Kind>, TensorId>>(in);
  const size_t count = std::max(present(in), present(Inputs<Kind>{}));
  Op op{.kind = &kind,
        .inputs = {slots.begin(), slots.begin() + count},
        .outputs = {},
        .attributes = attributes};
  set_outputs<Kind>(op, out);
  return op;
}

/// Implements Operation::call for a kind with a kernel per dtype: calls Kind::call<T>(stream, call)
/// with the type T of compute_dtype().
template <class Kind>
void call_typed(Stream& stream, const OpCall& call) {
  with_type(compute_dtype(*call.graph, *call.op),
            [&](auto t) { Kind::template call<typename decltype(t)::type>(stream, call); });
}

}  // namespace zero::graph
