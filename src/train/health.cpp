#include <cmath>

#include "src/train/trainer.hpp"
#include "zero/base/text.hpp"
#include "zero/save/checkpoint_facts.hpp"

namespace zero::train {
namespace {

/// What the optimizer would read of one unit: the gradient operand of its update.
struct Gradient {
  const plan::Unit* unit;
  Dtype dtype;
  Dtype rounded_to;
  const std::byte* data;
  state::UnitRange range;
  std::vector<std::byte> copy = {};  ///< what data points to where the host may not look
};

Gradient gradient_of(const state::StateView& view, const plan::PlanOp& update) {
  const plan::Operand& operand =
      update.operands[plan::gradient_operand(view.plan->request.optimizer)];
  const plan::Unit& unit = view.plan->units[size_t(update.unit)];
  const int64_t offset = operand.offset + (operand.sharded ? view.rank * operand.bytes : 0);
  Gradient gradient{.unit = &unit,
                    .dtype = update.in,
                    .rounded_to = update.round_gradient ? view.plan->request.compute : update.in,
                    .data = nullptr,
                    .range = state::held_range(unit, unit.optimizer_sharded, view.rank)};
  if (view.is_far(operand.buffer)) {
    gradient.copy.resize(size_t(operand.bytes));
    view.read_far(operand.buffer, offset, gradient.copy);
    gradient.data = gradient.copy.data();
  } else {
    gradient.data = view.bytes(operand.buffer).data() + offset;
  }
  return gradient;
}

float stored_at(const Gradient& gradient, int64_t place) {
  switch (gradient.dtype) {
    case Dtype::bf16:
      return float(reinterpret_cast<const bf16*>(gradient.data)[place]);
    case Dtype::f16:
      return float(reinterpret_cast<const f16*>(gradient.data)[place]);
    default:
      return reinterpret_cast<const float*>(gradient.data)[place];
  }
}

float value_at(const Gradient& gradient, int64_t i) {
  const float stored = stored_at(gradient, i - gradient.range.begin);
  if (gradient.rounded_to == Dtype::bf16) return float(bf16(stored));
  return gradient.rounded_to == Dtype::f16 ? float(f16(stored)) : stored;
}

std::string first_nonfinite_in(const plan::Plan& plan, const Gradient& gradient) {
  for (const plan::UnitParameter& place : gradient.unit->parameters) {
    const int64_t first = std::max(place.begin, gradient.range.begin);
    const int64_t last = std::min(place.begin + place.numel, gradient.range.end);
    for (int64_t i = first; i < last; ++i) {
      if (std::isfinite(value_at(gradient, i))) continue;
      const graph::Graph& graph = plan.graphs[0];
      const graph::Parameter& parameter = graph.parameters[size_t(place.parameter)];
      return text(graph[parameter.tensor].name, ", element ", i - place.begin);
    }
  }
  return "";
}

std::string advice(const RunConfig& config) {
  return config.fp16.enabled ? "use bf16, or lower optimizer.lr"
                             : "lower optimizer.lr or gradient_clipping, or look at the data";
}

}  // namespace

std::string first_nonfinite_gradient(const state::StateView& view) {
  for (const plan::PlanOp& op : view.plan->bodies[plan::kFinish].ops) {
    if (op.kind != plan::Kind::update && op.kind != plan::Kind::add_norms) continue;
    const std::string found = first_nonfinite_in(*view.plan, gradient_of(view, op));
    if (!found.empty()) return found;
  }
  return "";
}

void check_health(launch::Session& session, state::Engine& engine, const RunConfig& config,
                  const Decided& decided) {
  const kernels::StepReport& report = decided.report;
  const bool too_many =
      save::counts_streaks(config) && report.skipped_in_row > config.numerics.max_bad_steps;
  if (!report.scale_exhausted && !too_many) return;
  std::string where = "the loss";
  const std::vector<std::string> found =
      session.peers().share(first_nonfinite_gradient(engine.view()));
  for (size_t rank = found.size(); rank-- > 0;) {
    if (!found[rank].empty()) where = text(found[rank], " (rank ", rank, ")");
  }
  if (decided.gradients_step != report.step) {
    where += text(" (seen in the gradients of step ", decided.gradients_step, ")");
  }
  session.on_every_rank([&] {
    if (report.scale_exhausted) {
      refuse(Exit::kNumerics, "step ", report.step,
             " overflowed with the loss scale at its minimum, ", report.loss_scale,
             "; not finite: ", where, " - ", advice(config));
    }
    refuse(Exit::kNumerics, counted(report.skipped_in_row, "step"), " in a row",
           report.skipped_in_row == 1 ? " was" : " were", " not finite, up to step ", report.step,
           "; not finite: ", where, " - ", advice(config));
  });
}

}  // namespace zero::train
