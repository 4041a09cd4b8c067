#include "tests/support/adapters.hpp"

#include <map>
#include <utility>

#include "zero/base/text.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operations.hpp"

namespace zero::testing {
namespace {

using graph::GraphBuilder;
using graph::kNone;
using graph::TensorId;

/// The matrices beside one weight.
struct Adapter {
  TensorId weight, a, b;
  int64_t first;  ///< column of the weight
};

/// Adds A [in, rank] and B [rank, columns]. Files hold both transposed, as Hugging Face's PEFT.
Adapter add_adapter(GraphBuilder& out, TensorId weight, const AdapterTarget& target, int64_t rank) {
  const std::string name = out[weight].name;
  const Shape shape = out[weight].shape;
  const std::string stem = name.substr(0, name.size() - std::string_view(".weight").size());
  const int64_t columns = shape[1] / target.parts;
  const auto matrix = [&](const char* letter, const Shape& extents, graph::Init init) {
    const std::string own = text(stem, ".lora_", letter, ".", target.part, ".weight");
    return out.parameter({.name = own,
                          .shape = extents,
                          .decays = false,
                          .init = init,
                          .stored = {.names = {own}, .transposed = true}});
  };
  const TensorId a = matrix("A", {shape[0], rank}, graph::Init::normal);
  return {.weight = weight,
          .a = a,
          .b = matrix("B", {rank, columns}, graph::Init::zeros),
          .first = target.number * columns};
}

std::vector<Adapter> add_adapters(GraphBuilder& out, const Adapters& adapters) {
  std::vector<Adapter> made;
  const std::vector<graph::Parameter> own = out.graph().parameters;
  for (const graph::Parameter& parameter : own) {
    for (const AdapterTarget& target : adapters.targets) {
      if (!out[parameter.tensor].name.ends_with(target.weight)) continue;
      out.unit(out.graph().unit_names[size_t(parameter.unit)]);
      made.push_back(add_adapter(out, parameter.tensor, target, adapters.rank));
    }
  }
  return made;
}

/// Appends the op, and behind a product of an adapted weight its adapters. `altered` has the
/// results that later ops read.
void add_op(GraphBuilder& out, graph::Op op, const std::vector<Adapter>& adapters, float scale,
            std::map<TensorId, TensorId>& altered) {
  for (TensorId& input : op.inputs) {
    if (const auto found = altered.find(input); found != altered.end()) input = found->second;
  }
  out.unit(out.graph().unit_names[size_t(op.unit)]);
  out.add(op);
  if (op.kind != &graph::kLinear && op.kind != &graph::kRowLinear) return;
  TensorId y = op.outputs[0];
  for (const Adapter& adapter : adapters) {
    if (adapter.weight != op.inputs[1]) continue;
    const TensorId low = graph::linear(out, op.inputs[0], adapter.a, kNone);
    const TensorId high = graph::linear(out, low, adapter.b, kNone);
    y = graph::add_to_columns(out, y, high, {.first = adapter.first, .scale = scale});
    altered[op.outputs[0]] = y;
  }
}

graph::Graph adapted(const Adapters& adapters, graph::Graph graph) {
  const std::vector<graph::Op> ops = std::exchange(graph.ops, {});
  GraphBuilder out(std::move(graph));
  const std::vector<Adapter> made = add_adapters(out, adapters);
  std::map<TensorId, TensorId> altered;
  for (const graph::Op& op : ops) add_op(out, op, made, adapters.scale, altered);
  graph::Graph all = out.finish();
  std::vector<bool> borrowed;
  for (const graph::Parameter& parameter : all.parameters)
    borrowed.push_back(all[parameter.tensor].name.find(".lora_") == std::string::npos);
  return graph::borrow(std::move(all), borrowed);
}

}  // namespace

model::Alteration adapting(const Adapters& adapters) {
  using model::Purpose;
  return {.name = "adapters",
          .purposes = {Purpose::train, Purpose::evaluate, Purpose::decode, Purpose::store},
          .apply = [adapters](const model::Architecture&,
                              graph::Graph graph) { return adapted(adapters, std::move(graph)); },
          .fact = text("adapters of rank ", adapters.rank, " and scale ", adapters.scale)};
}

}  // namespace zero::testing
