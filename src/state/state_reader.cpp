#include <algorithm>
#include <numeric>

#include "zero/state/state_view.hpp"

namespace zero::state {
namespace {

constexpr int64_t kPieceNumel = 1 << 20;

}  // namespace

Located locate(const plan::Plan& plan, int32_t parameter) {
  for (const plan::Unit& unit : plan.units) {
    for (const plan::UnitParameter& place : unit.parameters) {
      if (place.parameter != parameter) continue;
      const int64_t numel = plan.graphs[0].parameters[size_t(parameter)].real_numel;
      return {&unit, {place.begin, place.begin + numel}};
    }
  }
  ZERO_REQUIRE(false, "parameter ", parameter, " lies in no unit");
}

std::vector<int32_t> parameters_by_name(const graph::Graph& graph) {
  std::vector<int32_t> order(graph.parameters.size());
  std::iota(order.begin(), order.end(), 0);
  const auto name = [&](int32_t i) -> const std::string& {
    return graph[graph.parameters[size_t(i)].tensor].name;
  };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return name(a) < name(b); });
  return order;
}

void join_state(const StateView& view, const launch::Peers& peers, StateKind kind,
                int32_t parameter, const std::function<void(std::span<const float>)>& visit) {
  const auto [unit, range] = locate(*view.plan, parameter);
  const auto [begin, end] = range;
  std::vector<float> piece;
  for (int64_t first = begin, last; first < end; first = last) {
    const int64_t shard = unit->optimizer_sharded ? first / unit->shard_numel : 0;
    const int64_t border = unit->optimizer_sharded ? (shard + 1) * unit->shard_numel : end;
    last = std::min({end, border, first + kPieceNumel});
    piece.resize(size_t(last - first));
    const int owner = int(shard);
    if (view.rank == owner) read_state(view, *unit, kind, {first, last}, piece);
    if (owner != 0 && view.rank == owner) peers.send(piece, 0);
    if (owner != 0 && view.rank == 0) peers.receive(piece, owner);
    if (view.rank == 0) visit(piece);
  }
}

}  // namespace zero::state
