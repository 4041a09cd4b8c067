#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operation.hpp"

namespace zero::graph {
namespace {

/// Returns [tensors]: the number of ops that read each tensor.
std::vector<int> count_readers(const Graph& graph) {
  std::vector<int> readers(graph.tensors.size());
  for (const Op& op : graph.ops) {
    for (TensorId input : op.inputs) {
      if (input != kNone) ++readers[size_t(input)];
    }
  }
  return readers;
}

/// True if both ops belong to one unit and pass, because callers choose by these.
bool belong_together(const Op& first, const Op& second) {
  return first.unit == second.unit && first.backward == second.backward &&
         first.repeated == second.repeated;
}

/// Returns the op that replaces two neighbours; nothing if no kernel does both.
std::optional<Op> fuse_pair(const Op& first, const Op& second, const std::vector<int>& readers) {
  if (first.kind->fuse == nullptr || !belong_together(first, second)) return std::nullopt;
  const bool shared = readers[size_t(main_output(first))] > 1;
  std::optional<Op> both = first.kind->fuse(first, second, shared);
  if (both) {
    both->unit = first.unit;
    both->backward = first.backward;
    both->repeated = first.repeated;
  }
  return both;
}

/// A copier of a graph's ops that fuses each op with an earlier one if possible.
class Joiner {
 public:
  explicit Joiner(const Graph& graph)
      : readers_(count_readers(graph)), writer_(graph.tensors.size(), kNone) {}

  void add(Op op) {
    if (is_taken_in(op)) return;
    std::optional<Op> both;
    if (!ops_.empty()) both = fuse_pair(ops_.back(), op, readers_);
    if (both) {
      ops_.back() = std::move(*both);
    } else {
      ops_.push_back(std::move(op));
    }
    note_outputs();
  }
  std::vector<Op> take() { return std::move(ops_); }

 private:
  /// True if the writer of an input of `op` now also writes the outputs of `op`.
  bool is_taken_in(const Op& op) {
    for (TensorId input : op.inputs) {
      const int32_t writer = input == kNone ? kNone : writer_[size_t(input)];
      if (writer == kNone) continue;
      Op& earlier = ops_[size_t(writer)];
      if (earlier.kind->take_in != nullptr && earlier.kind->take_in(earlier, op)) return true;
    }
    return false;
  }
  void note_outputs() {
    for (TensorId output : ops_.back().outputs) {
      writer_[size_t(output)] = int32_t(ops_.size()) - 1;
    }
  }

  std::vector<int> readers_;     ///< [tensors]
  std::vector<int32_t> writer_;  ///< [tensors] index in ops_
  std::vector<Op> ops_;
};

}  // namespace

Graph fuse(const Graph& graph) {
  Graph out = graph;
  Joiner joiner(graph);
  for (Op& op : out.ops) joiner.add(std::move(op));
  out.ops = joiner.take();
  return out;
}

}  // namespace zero::graph
