#include "src/run/profile_rows.hpp"

#include <algorithm>
#include <string_view>

#include "zero/device/region.hpp"
#include "zero/graph/operation.hpp"

namespace zero::run {

const char* name_of(const BoundOp& op) {
  if (op.op->kind == plan::Kind::compute) {
    return op.graph->ops[size_t(op.op->graph_op)].kind->name.data();
  }
  return plan::name_of(op.op->kind, op.plan->request.optimizer);
}

std::string region_of(const BoundOp& bound) {
  const plan::PlanOp& op = *bound.op;
  const bool others = op.lane != plan::Lane::compute;
  if (!tool_listens() || (others && !regions_are_of_threads())) return "";
  std::string name = others ? text(plan::name_of(op.lane), ": ") : "";
  name += name_of(bound);
  if (op.unit >= 0) name += " " + bound.plan->units.at(size_t(op.unit)).name;
  if (op.graph_op < 0) return name;
  const graph::Op& of_graph = bound.graph->ops[size_t(op.graph_op)];
  return name + " " + bound.graph->unit_names.at(size_t(of_graph.unit));
}

int32_t ProfileRows::of(const BoundOp& op) {
  const std::string_view name = name_of(op);
  const auto found =
      std::ranges::find(names_, name, [](const char* known) { return std::string_view(known); });
  const auto row = found - names_.begin();
  if (found == names_.end()) names_.push_back(name.data());
  return int32_t(row);
}

}  // namespace zero::run
