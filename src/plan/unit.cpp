#include "src/plan/passes.hpp"
#include "zero/base/align.hpp"

namespace zero::plan {

std::vector<Unit> lay_out_units(const graph::Graph& graph, int ranks) {
  std::vector<Unit> units(graph.unit_names.size());
  for (size_t u = 0; u < units.size(); ++u) units[u].name = graph.unit_names[u];
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const graph::Parameter& parameter = graph.parameters[p];
    Unit& unit = units[size_t(parameter.unit)];
    const int64_t begin = round_up(unit.numel, kTensorAlignNumel);
    const int64_t numel = graph[parameter.tensor].shape.numel();
    unit.placements.push_back({.parameter = int32_t(p), .begin = begin, .numel = numel});
    unit.numel = begin + numel;
  }
  for (Unit& unit : units) {
    ZERO_REQUIRE(unit.numel > 0, "unit ", unit.name, " has no parameters");
    unit.numel = round_up(unit.numel, kBlockNumel * ranks);
    unit.shard_numel = unit.numel / ranks;
  }
  return units;
}

}  // namespace zero::plan
