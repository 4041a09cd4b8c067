#include <algorithm>

#include "src/compile/body_builder.hpp"

namespace zero::plan {
namespace {

/// A division of a graph into stretches of adjacent ops of a unit: a block forward, the head in
/// both passes, a block backward.
class Stretches {
 public:
  explicit Stretches(const graph::Graph& graph) {
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      const bool begins = op == 0 || graph.ops[op].unit != graph.ops[op - 1].unit;
      if (begins) begins_.push_back(int32_t(op));
      of_.push_back(int32_t(begins_.size()) - 1);
    }
  }

  /// Returns the begin of the stretch that is `behind` stretches after the op's own.
  int32_t begin(int32_t op, int behind) const {
    const int32_t last = int32_t(begins_.size()) - 1;
    return begins_[size_t(std::clamp(of_[size_t(op)] + behind, 0, last))];
  }

 private:
  std::vector<int32_t> begins_;
  std::vector<int32_t> of_;  ///< [ops] stretch of an op
};

/// The ops that touch a tensor.
struct Touched {
  int32_t last_forward = -1;
  int32_t first_backward = -1;
  bool begins_recompute = false;
};

std::vector<Touched> find_touched(const graph::Graph& graph) {
  std::vector<Touched> touched(graph.tensors.size());
  for (int32_t i = 0; i < int32_t(graph.ops.size()); ++i) {
    const graph::Op& op = graph.ops[size_t(i)];
    const auto touch = [&](graph::TensorId tensor, bool reads) {
      if (tensor == graph::kNone || graph[tensor].role != graph::Role::activation) return;
      Touched& by = touched[size_t(tensor)];
      if (!op.backward) by.last_forward = i;
      if (op.backward && by.first_backward < 0) by.first_backward = i;
      by.begins_recompute |= reads && op.repeated;
    };
    for (graph::TensorId tensor : op.inputs) touch(tensor, true);
    for (graph::TensorId tensor : op.outputs) touch(tensor, false);
  }
  return touched;
}

}  // namespace

std::vector<MovedActivation> find_moved(const graph::Graph& graph, int blocks) {
  std::vector<MovedActivation> moved;
  const int32_t first = graph::first_backward_op(graph);
  if (first == int32_t(graph.ops.size())) return moved;
  const Stretches stretches(graph);
  const int32_t turn = stretches.begin(first, 0);
  const std::vector<Touched> touched = find_touched(graph);
  for (size_t tensor = 0; tensor < touched.size(); ++tensor) {
    const Touched& by = touched[tensor];
    if (!by.begins_recompute || by.last_forward < 0) continue;
    const int32_t ahead = stretches.begin(by.first_backward, -blocks);
    if (ahead <= turn) continue;
    moved.push_back({.tensor = graph::TensorId(tensor),
                     .away = by.last_forward,
                     .gone = std::min(turn, stretches.begin(by.last_forward, 1 + blocks)),
                     .ahead = ahead,
                     .back = stretches.begin(by.first_backward, 0)});
  }
  std::stable_sort(
      moved.begin(), moved.end(), [&](const MovedActivation& a, const MovedActivation& b) {
        return touched[size_t(a.tensor)].first_backward < touched[size_t(b.tensor)].first_backward;
      });
  return moved;
}

ActivationHomes::ActivationHomes(BodyWriter& writer, ComputeWriter& compute, int32_t graph)
    : writer_(writer), compute_(compute) {
  const Request& request = writer.request();
  const graph::Graph& moved = writer.plan().graphs[size_t(graph)];
  if (request.activation_home != Tier::device) {
    moved_ = find_moved(moved, request.staged_activations);
  }
  places_.resize(moved_.size(), -1);
  positions_.resize(moved.ops.size(), 0);
}

void ActivationHomes::before(int32_t op) {
  positions_[size_t(op)] = writer_.size();
  for (size_t which = 0; which < moved_.size(); ++which) {
    if (moved_[which].ahead == op) come_back(which);
  }
}

void ActivationHomes::after(int32_t op) {
  for (size_t which = 0; which < moved_.size(); ++which) {
    if (moved_[which].away == op) leave(which);
  }
}

void ActivationHomes::leave(size_t which) {
  const int32_t here = compute_.activation(moved_[which].tensor);
  const Buffer left = writer_.plan().buffers[size_t(here)];
  const Tier home = writer_.request().activation_home;
  places_[which] = writer_.transient(left.name + " at rest", Use::activations, left.bytes, home);
  const int32_t begin = writer_.size();
  writer_.move(-1, writer_.whole(here, Mode::read), writer_.whole(places_[which], Mode::write));
  moves_.push_back({begin, writer_.size(), moved_[which].gone});
}

void ActivationHomes::come_back(size_t which) {
  const Buffer rested = writer_.plan().buffers[size_t(places_[which])];
  const int32_t here = writer_.transient(rested.name + " and back", Use::activations, rested.bytes);
  const int32_t begin = writer_.size();
  writer_.move(-1, writer_.whole(places_[which], Mode::read), writer_.whole(here, Mode::write));
  moves_.push_back({begin, writer_.size(), moved_[which].back});
  compute_.set_activation(moved_[which].tensor, here);
}

void ActivationHomes::end_micro() {
  for (const Moves& moves : moves_) {
    if (!writer_.request().overlap) break;
    for (int32_t i = moves.begin; i < moves.end; ++i) {
      PlanOp& op = writer_.body().ops[size_t(i)];
      op.done_by = std::max(op.done_by, positions_[size_t(moves.until)] - 1);
    }
  }
  moves_.clear();
}

}  // namespace zero::plan
