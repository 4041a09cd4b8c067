#include <algorithm>

#include "zero/base/text.hpp"
#include "zero/plan/rounds.hpp"
#include "zero/state/engine.hpp"

namespace zero::state {

std::array<int64_t, plan::kLanes> copied_bytes(const plan::Body& body) {
  std::array<int64_t, plan::kLanes> bytes{};
  for (int32_t i = 0; i < int32_t(body.ops.size()); ++i) {
    const plan::PlanOp& op = body.ops[size_t(i)];
    const bool copies = op.lane == plan::Lane::h2d || op.lane == plan::Lane::d2h;
    if (copies && plan::is_transfer(op.kind)) {
      bytes[size_t(op.lane)] += op.operands[plan::kSource].bytes * plan::times_of(body, i);
    }
  }
  return bytes;
}

std::string lane_table(const LaneUses& lanes) {
  const auto moves = [](const LaneUse& lane) { return lane.bytes > 0; };
  if (std::ranges::none_of(lanes, moves)) return "";
  std::string out = "lanes of rank 0, beside each other\n";
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    const LaneUse& use = lanes[lane];
    if (!moves(use) && plan::Lane(lane) != plan::Lane::compute) continue;
    append(out, "  %-14s %9.2f s busy %9.2f s waiting", plan::name_of(plan::Lane(lane)),
           use.busy_seconds, use.waited_seconds);
    if (moves(use)) {
      append(out, "  %12s  %7.2f GB/s", bytes_text(double(use.bytes)).c_str(), 1e-9 * use.rate());
    }
    out += "\n";
  }
  return out;
}

}  // namespace zero::state
