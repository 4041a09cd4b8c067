#include "zero/train/progress.hpp"

#include "zero/graph/op_info.hpp"

namespace zero::train {

std::string describe_op(const plan::Plan& plan, const plan::Body& body, int32_t op) {
  const plan::PlanOp& made = body.ops[size_t(op)];
  if (made.kind == plan::Kind::compute) {
    const graph::Op& from = plan.graphs[size_t(body.graph)].ops[size_t(made.graph_op)];
    return text(graph::info(from.kind).name, " of layer ", from.layer, ", micro-batch ",
                made.micro);
  }
  std::string name = plan::name_of(made.kind);
  if (made.unit >= 0) name += " of unit " + plan.units[size_t(made.unit)].name;
  return name;
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
    const int32_t op = progress[lane].running.load();
    const plan::Body& ran = plan.bodies[body];
    if (op < 0 || op >= int32_t(ran.ops.size())) continue;
    out += text(out.empty() ? "" : "; ", "lane ", plan::name_of(plan::Lane(lane)), ": ",
                describe_op(plan, ran, op), " (op ", op, " of ", ran.name, ", ",
                progress[lane].finished.load(), " finished)");
  }
  return out.empty() ? "all lanes wait for each other" : out;
}

}  // namespace zero::train
