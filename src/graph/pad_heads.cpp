#include "src/graph/ops/kinds.hpp"
#include "zero/base/align.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

/// The heads side by side in the rows of a tensor.
struct Heads {
  int64_t count = 0;            ///< 0: no heads that grow
  int64_t width = 0, wide = 0;  ///< elements per head before and after
};

/// The heads that grow, by tensor.
class WiderHeads {
 public:
  WiderHeads(const Graph& graph, int64_t unit) : held_(graph.tensors.size(), Heads{}) {
    for (const Op& op : graph.ops) {
      if (op.kind->heads == nullptr) continue;
      const AttentionHeads of = op.kind->heads(graph, op);
      if (of.width % unit == 0) continue;
      const int64_t wide = round_up(of.width, unit);
      for (const auto& [tensor, heads] : of.read) held_[size_t(tensor)] = {heads, of.width, wide};
      held_[size_t(of.written.tensor)] = {of.written.heads, of.width, wide};
    }
  }

  const Heads& operator[](TensorId tensor) const { return held_[size_t(tensor)]; }
  TensorId tensors() const { return TensorId(held_.size()); }

 private:
  std::vector<Heads> held_;  ///< [tensors]
};

/// A builder of the graph with wider heads. Ops keep their order, and tensors their ids.
class Padder {
 public:
  Padder(Graph graph, int64_t unit) : graph_(std::move(graph)), wider_(graph_, unit) {}

  Graph padded() {
    for (Op& op : std::exchange(graph_.ops, {})) {
      if (op.kind->linear) {
        widen_linear(op);
      } else if (op.kind->heads != nullptr && wider_[main_output(op)].count > 0) {
        op.kind->set_head_width(op, wider_[main_output(op)].width);
      }
      graph_.ops.push_back(std::move(op));
    }
    widen_activations();
    return std::move(graph_);
  }

 private:
  /// Gives a product that writes or reads heads a wider copy of its weight.
  void widen_linear(Op& op) {
    TensorId &weight = op.inputs[1], &bias = op.inputs[2];
    const Heads made = wider_[main_output(op)], read = wider_[op.inputs[0]];
    if (made.count > 0) {
      const int64_t rows = graph_[weight].shape[0];
      weight = widened(op, weight, rows * made.count, {rows, made.count * made.wide});
      if (bias != kNone) bias = widened(op, bias, made.count, {made.count * made.wide});
    }
    if (read.count > 0) {
      const int64_t columns = graph_[weight].shape[1];
      weight = widened(op, weight, read.count, {read.count * read.wide, columns});
    }
  }

  /// Appends the op that makes a wider copy of a weight for `user`.
  TensorId widened(const Op& user, TensorId weight, int64_t heads, const Shape& shape) {
    const Tensor& from = graph_[weight];
    ZERO_REQUIRE(from.shape.numel() % heads == 0, describe(from), " does not split into ", heads,
                 " heads");
    const auto wide = TensorId(graph_.tensors.size());
    graph_.tensors.push_back({.name = from.name + ".wide", .dtype = from.dtype, .shape = shape});
    Op op = resizing(weight, wide, heads);
    op.unit = user.unit;
    graph_.ops.push_back(std::move(op));
    return wide;
  }

  void widen_activations() {
    for (TensorId t = 0; t < wider_.tensors(); ++t) {
      const auto& heads = wider_[t];
      Shape& shape = graph_.tensors[size_t(t)].shape;
      if (heads.count > 0) shape = Shape({shape[0], heads.count * heads.wide});
    }
  }

  Graph graph_;
  const WiderHeads wider_;
};

/// True if only products and attention touch the tensors with heads that grow.
bool has_products_around(const Graph& graph, const WiderHeads& wider) {
  for (const Op& op : graph.ops) {
    for (const std::vector<TensorId>* list : {&op.inputs, &op.outputs}) {
      for (const TensorId tensor : *list) {
        if (tensor == kNone || wider[tensor].count == 0) continue;
        if (!op.kind->linear && op.kind->heads == nullptr) return false;
      }
    }
  }
  return true;
}

}  // namespace

Graph pad_heads(Graph forward, int64_t unit) {
  if (unit <= 1) return forward;
  if (!has_products_around(forward, WiderHeads(forward, unit))) return forward;
  return Padder(std::move(forward), unit).padded();
}

}  // namespace zero::graph
