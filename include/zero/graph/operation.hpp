#pragma once
/// A kind of op as one constant: all that the rest of the house asks of it. Each is defined in
/// src/graph/ops/<kind>.cpp; operations.hpp lists them.

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/graph/graph.hpp"
#include "zero/graph/passes.hpp"

namespace zero::graph {

/// The address of an operand; null if it is absent. Converts to any typed pointer.
struct Address {
  void* at = nullptr;

  template <class T>
  operator T*() const {
    return static_cast<T*>(at);
  }
  bool operator==(std::nullptr_t) const { return at == nullptr; }
};

/// One op with its operands resolved to addresses.
struct OpCall {
  const Graph* graph;
  const Op* op;
  std::span<void* const> operands;  ///< op->inputs, then op->outputs, in order
  Address scratch = {};             ///< scratch_bytes() bytes
  int64_t sample_offset = 0;        ///< first sample of the micro-batch, counted from the step's
  bool sums = false;                ///< the first output is an fp32 sum: Operation::sums
  bool add = false;                 ///< ... which is added to
};

inline double no_flops(const Graph&, const Op&) { return 0; }
inline int64_t nothing(const Graph&, const Op&) { return 0; }
inline int64_t no_scratch(const Graph&, const Op&, int) { return 0; }
/// Bytes of all operands together.
int64_t operand_bytes(const Graph& graph, const Op& op);

/// The heads of attention, side by side in the rows of tensors, for pad_heads().
struct AttentionHeads {
  struct Read {
    TensorId tensor;
    int64_t parts;  ///< queries, keys and values that stand side by side
  };
  std::vector<Read> read;
  TensorId written;
  int64_t heads, width;  ///< of each part; elements of a head
};

struct Operation {
  std::string_view name;
  /// Floating-point operations of products and attention; 0 for what is bound by memory.
  double (*flops)(const Graph& graph, const Op& op) = no_flops;
  /// Exponentials that it takes beside products: of an attention's scores, a classifier's logits.
  int64_t (*exponentials)(const Graph& graph, const Op& op) = nothing;
  /// Bytes that the op reads and writes once: what bounds an elementwise op.
  int64_t (*traffic_bytes)(const Graph& graph, const Op& op) = operand_bytes;
  /// Bytes of scratch the kernel wants when it runs with `threads` threads.
  int64_t (*scratch_bytes)(const Graph& graph, const Op& op, int threads) = no_scratch;
  /// Appends the ops that compute the gradients of op's inputs; null: it has none.
  void (*gradient)(GradientTape& tape, const Op& op) = nullptr;
  /// Whether this op ends the forward pass; its gradient op also computes the loss.
  bool is_loss = false;
  /// The least choice of recompute() that repeats it. Recompute::selective: little work beside the
  /// bytes that need not be kept; Recompute::none: its output is never kept.
  Recompute repeated_from = Recompute::full;
  /// Its first output is the gradient of a weight, which it can write to or add to an fp32 sum.
  bool sums = false;
  /// One op in place of `first`, of this kind, and the op after it; none where no kernel does both.
  /// `shared`: further ops read the first output of `first`.
  std::optional<Op> (*fuse)(const Op& first, const Op& second, bool shared) = nullptr;
  /// Gives `op`, of this kind, the outputs of a later op that reads one of its own, where its
  /// kernel has them in passing. False: it cannot, and `op` stays as it was. Null: it never can.
  bool (*take_in)(Op& op, const Op& reader) = nullptr;
  /// Random numbers that it draws, others for each micro-batch.
  int64_t (*draws)(const Graph& graph, const Op& op) = nothing;
  /// Returns its heads; null: it has none.
  AttentionHeads (*heads)(const Graph& graph, const Op& op) = nullptr;
  /// Says how many elements of each head stand in front of zeros; null: it has no heads.
  void (*set_head_width)(Op& op, int64_t width) = nullptr;
  bool linear = false;  ///< y = x weight + bias; inputs are x, weight and bias, which may be kNone
  /// The weight [in, out] that its kernel reads in kernels::WeightPanels; null: none.
  TensorId (*panelled)(const Op& op) = nullptr;

  /// Calls the kernel. Asynchronous on `stream`; allocates nothing.
  void (*call)(Stream& stream, const OpCall& call) = nullptr;
  /// Among kinds with flops: a device measures how the kernel is best called at its first call.
  bool rehearsed = true;
  /// Makes what the first call() on this thread would make; null: nothing.
  void (*prepare)(Stream& stream, const OpCall& call) = nullptr;
};

/// The output that Operation::sums and Operation::fuse speak of: the first that the kind lists.
inline TensorId main_output(const Op& op) { return op.outputs.front(); }
/// kNone where the kind sums none.
inline TensorId sum_output(const Op& op) { return op.kind->sums ? main_output(op) : kNone; }

/// Calls the kernel of op's kind: the one place where graph meets arithmetic. Asynchronous on
/// `stream`; allocates nothing. Throws Error(kInternal) where operands are missing.
void call(Stream& stream, const OpCall& call);

/// Makes the kernels of products that call() would make when this thread first calls the op, so
/// that what is refused then is refused now; touches no operand.
void prepare(Stream& stream, const OpCall& call);

/// The dtype whose kernel an op wants: that of its first floating-point input.
Dtype compute_dtype(const Graph& graph, const Op& op);

// Operands by name. A kind has two templates of one type parameter, In and Out, whose members are
// all of that type: tensors where a graph is written, addresses where its kernel is called. An
// absent input is kNone in the op's list. An optional operand, whose member begins as kAbsent,
// stands last, and the list ends in front of it where it is absent.

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

/// How many operands stand in front of absent ones. Outputs<Kind>{} has those that every op has.
template <class Named>
constexpr size_t present(const Named& named) {
  const auto slots = std::bit_cast<Slots<Named, TensorId>>(named);
  size_t count = slots.size();
  while (count > 0 && slots[count - 1] == kNone) --count;
  return count;
}

template <class Named, class Slot, class From>
Named named(const From& list, size_t required) {
  Slots<Named, Slot> slots;
  ZERO_REQUIRE(list.size() >= required && list.size() <= slots.size(), "an op has ", list.size(),
               " operands where ", slots.size(), " have names");
  slots.fill(kAbsent<Slot>);
  for (size_t i = 0; i < list.size(); ++i) slots[i] = Slot{list[i]};
  return std::bit_cast<Named>(slots);
}

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

template <class Kind>
void set_outputs(Op& op, const Outputs<Kind>& out) {
  const auto slots = std::bit_cast<Slots<Outputs<Kind>, TensorId>>(out);
  op.outputs.assign(slots.begin(), slots.begin() + present(out));
}

/// An op of kind `kind`, whose operands are named by Kind.
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

/// Operation::call of a kind with a kernel for each dtype: Kind::call<T>(stream, call).
template <class Kind>
void call_typed(Stream& stream, const OpCall& call) {
  with_type(compute_dtype(*call.graph, *call.op),
            [&](auto t) { Kind::template call<typename decltype(t)::type>(stream, call); });
}

}  // namespace zero::graph
