#include "zero/graph/operation.hpp"
#include "zero/launch/watchdog.hpp"

namespace zero::launch {

std::string describe_op(const plan::Plan& plan, const plan::Body& body, const plan::Turn& turn) {
  const plan::PlanOp& made = body.ops[size_t(turn.op)];
  if (made.kind == plan::Kind::compute) {
    const graph::Op& from = plan.graphs[size_t(body.graph)].ops[size_t(made.graph_op)];
    return text(from.kind->name, " of unit ", plan::unit_name(plan, body, made), ", micro-batch ",
                plan::micro_of(body, made, turn.round));
  }
  const std::string name = plan::name_of(made.kind, plan.request.optimizer);
  const std::string unit = plan::unit_name(plan, body, made);
  return unit.empty() ? name : name + " of unit " + unit;
}

int64_t finished_ops(std::span<const run::LaneProgress> progress) {
  int64_t finished = 0;
  for (const run::LaneProgress& lane : progress) finished += lane.finished.load();
  return finished;
}

std::string describe_progress(const plan::Plan& plan, plan::BodyId body,
                              std::span<const run::LaneProgress> progress) {
  std::string out;
  for (size_t lane = 0; lane < progress.size(); ++lane) {
    const int64_t running = progress[lane].running.load();
    const plan::Body& ran = plan.bodies[body];
    if (running < 0 || ran.ops.empty()) continue;
    const plan::Turn turn = run::turn_running(ran, running);
    out += text(out.empty() ? "" : "; ", "lane ", plan::name_of(plan::Lane(lane)), ": ",
                describe_op(plan, ran, turn), " (op ", turn.op, " of ", ran.name, ", ",
                progress[lane].finished.load(), " finished)");
  }
  return out.empty() ? "all lanes wait for each other" : out;
}

}  // namespace zero::launch
