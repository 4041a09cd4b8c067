#include <algorithm>
#include <iterator>
#include <utility>

#include "src/graph/ops/kinds.hpp"
#include "zero/base/error.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operation.hpp"

namespace zero::graph {
namespace {

bool names_any(const std::vector<TensorId>& tensors, const std::vector<bool>& marks) {
  return std::ranges::any_of(
      tensors, [&](TensorId tensor) { return tensor != kNone && marks[size_t(tensor)]; });
}

/// Returns [tensors]: true for trained parameters and tensors that depend on them.
std::vector<bool> trained_into(const Graph& graph) {
  std::vector<bool> wanted(graph.tensors.size(), false);
  for (const Parameter& parameter : graph.parameters) {
    wanted[size_t(parameter.tensor)] = !parameter.frozen;
  }
  for (const Op& op : graph.ops) {
    if (!names_any(op.inputs, wanted)) continue;
    for (const TensorId output : op.outputs) wanted[size_t(output)] = true;
  }
  return wanted;
}

}  // namespace

GradientTape::GradientTape(Graph& graph)
    : graph_(graph), wanted_(trained_into(graph)), pending_(graph.tensors.size(), kNone) {}

TensorId GradientTape::take(TensorId tensor) {
  return std::exchange(pending_[size_t(tensor)], kNone);
}

void GradientTape::contribute(TensorId tensor, TensorId gradient) {
  // Plans reduce a parameter's gradient from its own tensor in the bytes of the unit.
  ZERO_REQUIRE(graph_[tensor].role != Role::parameter, "parameter ", graph_[tensor].name,
               " is used where only activations have a gradient");
  if (!wants(tensor)) return;
  TensorId& pending = pending_[size_t(tensor)];
  if (pending == kNone) {
    pending = gradient;
    return;
  }
  const TensorId earlier = pending;
  // Not in place, because tensors may share a gradient, as both branches of a residual do.
  const TensorId sum = like(tensor);
  append(addition(earlier, gradient, sum));
  pending_[size_t(tensor)] = sum;
}

TensorId GradientTape::like(TensorId tensor) {
  const Tensor source = graph_[tensor];
  graph_.tensors.push_back({.name = "d(" + source.name + ")",
                            .dtype = source.dtype,
                            .shape = source.shape,
                            .role = Role::activation});
  pending_.push_back(kNone);
  return TensorId(graph_.tensors.size()) - 1;
}

TensorId GradientTape::weight_gradient(TensorId weight) {
  const TensorId made = like(weight);
  if (!wants(weight)) return made;
  if (graph_[weight].role != Role::parameter || gradient(weight) != kNone) {
    parts_.push_back({.weight = weight, .part = made});
    return made;
  }
  graph_.tensors[size_t(made)].role = Role::gradient;
  graph_.tensors[size_t(made)].parameter = weight;
  pending_[size_t(weight)] = made;
  return made;
}

void GradientTape::add_parts() {
  for (const auto& [weight, part] : parts_) {
    if (graph_[weight].role == Role::parameter) {
      append(addition(gradient(weight), part, gradient(weight)));
    } else {
      contribute(weight, part);
    }
  }
  parts_.clear();
}

void GradientTape::append(Op op) { graph_.ops.push_back(std::move(op)); }

namespace {

/// Appends the ops of `op`'s gradient rule to its unit.
void append_gradient(GradientTape& tape, Graph& graph, const Op& op) {
  ZERO_REQUIRE(op.kind->gradient != nullptr, "no gradient rule for ", op.kind->name);
  const size_t before = graph.ops.size();
  op.kind->gradient(tape, op);
  tape.add_parts();
  for (size_t i = before; i < graph.ops.size(); ++i) {
    graph.ops[i].unit = op.unit;
    graph.ops[i].backward = true;
  }
}

/// True if the loss depends on an output of `op`, and the output on a trained parameter.
bool depends_on(const GradientTape& tape, const Op& op) {
  return std::ranges::any_of(op.outputs,
                             [&](TensorId output) { return tape.gradient(output) != kNone; });
}

/// Removes backward ops whose outputs are not read. Rules append them for frozen parameters and for
/// activations that only these need.
void drop_unread(Graph& graph) {
  std::vector<bool> read(graph.tensors.size(), false);
  for (size_t i = 0; i < read.size(); ++i) read[i] = graph.tensors[i].role != Role::activation;
  std::vector<Op> kept;
  while (!graph.ops.empty()) {
    Op op = std::move(graph.ops.back());
    graph.ops.pop_back();
    if (op.backward && !names_any(op.outputs, read)) continue;
    for (const TensorId input : op.inputs) {
      if (input != kNone) read[size_t(input)] = true;
    }
    kept.push_back(std::move(op));
  }
  graph.ops.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace

Graph freeze(Graph forward, const std::vector<bool>& frozen) {
  std::vector<Parameter>& parameters = forward.parameters;
  ZERO_REQUIRE(frozen.size() == parameters.size(), "freeze: ", frozen.size(), " choices for ",
               parameters.size(), " parameters");
  const size_t units = forward.unit_names.size();
  std::vector<bool> trains(units, false);
  for (size_t p = 0; p < parameters.size(); ++p) {
    parameters[p].frozen = frozen[p];
    if (!frozen[p]) trains[size_t(parameters[p].unit)] = true;
  }
  ZERO_REQUIRE(std::ranges::find(trains, true) != trains.end(), "freeze: nothing is trained");
  std::vector<int32_t> apart(units, -1);
  for (Parameter& parameter : parameters) {
    const size_t unit = size_t(parameter.unit);
    if (!parameter.frozen || !trains[unit]) continue;
    if (apart[unit] < 0) {
      apart[unit] = int32_t(forward.unit_names.size());
      forward.unit_names.push_back(forward.unit_names[unit] + ".frozen");
    }
    parameter.unit = apart[unit];
  }
  return forward;
}

Graph borrow(Graph forward, const std::vector<bool>& borrowed) {
  Graph graph = freeze(std::move(forward), borrowed);
  for (Parameter& parameter : graph.parameters) parameter.borrowed = parameter.frozen;
  return graph;
}

Graph differentiate(const Graph& forward) {
  ZERO_REQUIRE(!forward.ops.empty() && forward.ops.back().kind->is_loss,
               "a graph to differentiate must end with its loss");
  Graph graph = forward;
  graph.ops.pop_back();
  GradientTape tape(graph);
  append_gradient(tape, graph, forward.ops.back());
  for (size_t i = forward.ops.size() - 1; i-- > 0;) {
    const Op& op = forward.ops[i];
    if (depends_on(tape, op)) append_gradient(tape, graph, op);
  }
  for (Parameter& parameter : graph.parameters) {
    if (parameter.frozen) continue;
    parameter.gradient = tape.gradient(parameter.tensor);
    ZERO_REQUIRE(parameter.gradient != kNone, "the loss does not depend on parameter ",
                 graph[parameter.tensor].name);
  }
  if (frozen_numel(graph) > 0) drop_unread(graph);
  return graph;
}

}  // namespace zero::graph
