#include <algorithm>

#include "src/compile/passes.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/graph/operation.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::plan {
namespace {

int32_t keep(Plan& plan, const std::string& name, Use use, int64_t bytes,
             Tier tier = Tier::device) {
  plan.buffers.push_back(
      {.name = name, .bytes = bytes, .tier = tier, .use = use, .persistent = true});
  return int32_t(plan.buffers.size()) - 1;
}

constexpr int64_t kDiskWindowBytes = int64_t(4) << 20;

/// Makes the buffer through which the host accesses disk homes.
void place_disk_window(Plan& plan) {
  const Request& request = plan.request;
  const Tier homes[] = {request.optimizer_home, request.weight_home, request.activation_home};
  if (std::find(std::begin(homes), std::end(homes), Tier::nvme) == std::end(homes)) return;
  plan.disk_window = keep(plan, "disk.window", Use::staging, kDiskWindowBytes, Tier::host);
}

/// Returns the bytes per element that complete a weight to its master: an int16 for bf16, an fp32
/// for fp16, none for fp32.
int64_t low_bytes(Dtype compute) {
  return compute == Dtype::bf16 ? 2 : compute == Dtype::f16 ? 4 : 0;
}

void place_weight(Plan& plan, Unit& unit) {
  unit.weight_sharded = plan.request.stage == 3 && plan.request.ranks > 1;
  const int64_t numel = unit.weight_sharded ? unit.weight_shard_numel() : unit.numel;
  unit.weight = keep(plan, unit.name + ".weight", Use::weights,
                     numel * int64_t(bytes_of(plan.request.compute)), unit.weight_home);
}

void place_optimizer(Plan& plan, Unit& unit) {
  const int64_t numel = unit.optimizer_sharded ? unit.shard_numel : unit.numel;
  const auto keep_state = [&](const char* name, int64_t element) {
    return keep(plan, text(unit.name, ".", name), Use::optimizer, numel * element,
                unit.optimizer_home);
  };
  const int64_t low = low_bytes(plan.request.compute);
  if (low > 0) unit.low = keep_state("low", low);
  for (const OptimizerState& state : plan.request.optimizer.states) {
    unit.states.push_back(keep_state(state.name, int64_t(bytes_of(state.dtype))));
  }
}

void place_unit(Plan& plan, Unit& unit) {
  const Request& request = plan.request;
  place_weight(plan, unit);
  unit.optimizer_sharded =
      unit.frozen ? unit.weight_sharded : request.stage >= 1 && request.ranks > 1;
  if (unit.frozen) return;
  place_optimizer(plan, unit);
  const Tier site = unit.optimizer_site();
  const RestingGradient gradient = resting_gradient(request, site);
  const bool full = gradient.full || !unit.optimizer_sharded;
  unit.gradient =
      keep(plan, unit.name + ".gradient", Use::gradients,
           (full ? unit.numel : unit.shard_numel) * int64_t(bytes_of(gradient.element)), site);
}

/// Chooses the units whose states leave the device, and, of these, the units that the device still
/// updates. Each share of elements is spread evenly in graph order.
void spread_homes(Plan& plan) {
  const Request& request = plan.request;
  double seen = 0, moved = 0, on_device = 0;
  for (Unit& unit : plan.units) {
    unit.weight_home = request.weight_home;
    if (unit.frozen) continue;
    const double numel = double(unit.numel);
    seen += numel;
    if (moved + numel > request.optimizer_share * seen) continue;
    unit.optimizer_home = request.optimizer_home;
    moved += numel;
    const bool stays = request.optimizer_home == Tier::device;
    if (stays || on_device + numel > request.device_update_share * moved) continue;
    unit.updated_on_device = true;
    on_device += numel;
  }
}

/// Makes buffers, named with `prefix`, for the inputs of a graph that `filled_by` writes.
/// `micro_batches` inputs lie apart; 0: all share one.
void place_inputs(Plan& plan, int32_t graph, graph::FilledBy filled_by, const std::string& prefix,
                  int64_t micro_batches = 0) {
  const graph::Graph& of = plan.graphs[size_t(graph)];
  for (const graph::Input& input : of.inputs) {
    if (input.filled_by != filled_by) continue;
    const graph::Tensor& tensor = of[input.tensor];
    InputBuffer made{.graph = graph,
                     .name = tensor.name,
                     .filled_by = filled_by,
                     .ids = input.ids,
                     .bytes = tensor.bytes()};
    if (micro_batches > 0) made.stride = round_up(made.bytes, kExtentAlignBytes);
    const int64_t bytes = micro_batches > 0 ? micro_batches * made.stride : made.bytes;
    made.buffer = keep(plan, prefix + made.name, Use::step_data, bytes);
    plan.inputs.push_back(std::move(made));
  }
}

void place_outputs(Plan& plan, int32_t graph, const std::string& prefix) {
  const graph::Graph& of = plan.graphs[size_t(graph)];
  for (const graph::Output& output : of.outputs) {
    const int32_t buffer =
        keep(plan, prefix + output.name, Use::step_data, of[output.tensor].bytes());
    plan.outputs.push_back({.graph = graph, .name = output.name, .buffer = buffer});
  }
}

/// Returns the buffer of an earlier constant with these values, or -1.
int32_t find_constant(const Plan& plan, const std::vector<float>& values) {
  for (const ConstantBuffer& placed : plan.constants) {
    const auto& other = plan.graphs[size_t(placed.graph)].constants[size_t(placed.index)].values;
    if (&*other == &values || *other == values) return placed.buffer;
  }
  return -1;
}

/// Makes a buffer for each constant. Graphs share those of equal values.
void place_constants(Plan& plan) {
  for (size_t graph = 0; graph < plan.graphs.size(); ++graph) {
    const graph::Graph& of = plan.graphs[graph];
    for (size_t index = 0; index < of.constants.size(); ++index) {
      const graph::Tensor& tensor = of[of.constants[index].tensor];
      int32_t buffer = find_constant(plan, *of.constants[index].values);
      if (buffer < 0) buffer = keep(plan, tensor.name, Use::constants, tensor.bytes());
      plan.constants.push_back(
          {.graph = int32_t(graph), .index = int32_t(index), .buffer = buffer});
    }
  }
}

void place_evaluation(Plan& plan) {
  place_inputs(plan, 1, graph::FilledBy::step, "evaluation.");
  place_outputs(plan, 1, "evaluation.");
  place_inputs(plan, 1, graph::FilledBy::data, "evaluation.");
}

/// Gives the other graph the same buffers.
template <class Buffers>
void share(Buffers& buffers, int32_t graph) {
  const Buffers before = buffers;
  for (auto shared : before) {
    shared.graph = graph;
    buffers.push_back(std::move(shared));
  }
}

}  // namespace

GradientLayout gradient_layout(const Request& request) {
  const bool alone = request.ranks == 1;
  const bool several = request.micro_batches > 1;
  GradientLayout layout{};
  layout.counter = several && request.reproducible;
  layout.gather_sums = !alone && request.stage == 0;
  // A counter holds only shards, so stage 1 then needs no whole gradient at rest.
  layout.full = alone || request.stage == 0 || (request.stage == 1 && !layout.counter);
  const bool rounded_once = layout.counter && layout.gather_sums && !request.gradient_fp32;
  layout.meets = request.has_groups() ? Team::group : Team::all;
  layout.crosses_once = request.crosses_once();
  // A sum that has crossed is fp32, because sums of groups are.
  const bool one_micro_batch =
      !several && (alone || (!request.gradient_fp32 && !request.has_groups()));
  layout.element = one_micro_batch || rounded_once ? request.compute : Dtype::f32;
  layout.direct = !several && layout.full && layout.element == request.compute;
  layout.local_sum = several && !layout.counter && layout.full;
  layout.in_products = layout.local_sum && request.sums_in_products;
  layout.round_gradient = layout.element != request.compute && !request.gradient_fp32;
  layout.wire_bf16 = layout.local_sum && !alone && request.wire_bf16;
  return layout;
}

std::vector<bool> summed_by_their_op(const graph::Graph& graph) {
  const std::vector<int32_t> parameter_of = graph::parameter_index(graph);
  std::vector<int> writers(graph.parameters.size());
  std::vector<bool> summed(graph.parameters.size());
  for (const graph::Op& op : graph.ops) {
    for (graph::TensorId output : op.outputs) {
      if (graph[output].role != graph::Role::gradient) continue;
      const size_t parameter = size_t(parameter_of[size_t(graph[output].parameter)]);
      const bool alone = writers[parameter]++ == 0;
      summed[parameter] = alone && output == graph::sum_output(op);
    }
  }
  return summed;
}

RestingGradient resting_gradient(const Request& request, Tier site) {
  const GradientLayout layout = gradient_layout(request);
  if (site == Tier::device) return {layout.element, layout.full, layout.round_gradient};
  return {.element = layout.round_gradient ? request.compute : layout.element,
          .full = false,
          .round_gradient = false};
}

std::vector<Unit> lay_out_units(const graph::Graph& graph, const Groups& groups) {
  std::vector<Unit> units(graph.unit_names.size());
  for (size_t u = 0; u < units.size(); ++u) units[u].name = graph.unit_names[u];
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const graph::Parameter& parameter = graph.parameters[p];
    Unit& unit = units[size_t(parameter.unit)];
    ZERO_REQUIRE(unit.parameters.empty() || unit.borrowed == parameter.borrowed, "unit ", unit.name,
                 " has borrowed parameters and others");
    unit.frozen = parameter.frozen;
    unit.borrowed = parameter.borrowed;
    const int64_t begin = round_up(unit.numel, kTensorAlignNumel);
    const int64_t numel = graph[parameter.tensor].shape.numel();
    unit.parameters.push_back({.parameter = int32_t(p), .begin = begin, .numel = numel});
    unit.numel = begin + numel;
  }
  for (Unit& unit : units) {
    ZERO_REQUIRE(unit.numel > 0, "unit ", unit.name, " has no parameters");
    unit.numel = round_up(unit.numel, kBlockNumel * groups.ranks);
    unit.shard_numel = unit.numel / groups.ranks;
    unit.weight_copies = groups.count();
  }
  return units;
}

void place_decode_states(Plan& plan) {
  const graph::Graph& token = plan.graphs[0];
  place_inputs(plan, 0, graph::FilledBy::step, "");
  share(plan.inputs, 1);
  place_inputs(plan, 0, graph::FilledBy::generation, "decode.");
  place_inputs(plan, 1, graph::FilledBy::generation, "prefill.");
  place_outputs(plan, 0, "");
  share(plan.outputs, 1);
  for (const graph::Tensor& tensor : token.tensors) {
    if (tensor.role != graph::Role::cache) continue;
    plan.caches.push_back(keep(plan, tensor.name, Use::cache, tensor.bytes()));
  }
  place_constants(plan);
  place_disk_window(plan);
  for (Unit& unit : plan.units) {
    unit.weight_home = plan.request.weight_home;
    place_weight(plan, unit);
  }
}

void place_states(Plan& plan) {
  place_inputs(plan, 0, graph::FilledBy::step, "");
  plan.step_state = keep(plan, "step state", Use::step_data, sizeof(kernels::StepState));
  place_outputs(plan, 0, "");
  place_inputs(plan, 0, graph::FilledBy::data, "",
               plan.request.micro_batches + plan.request.audits);
  if (plan.request.audits) {
    plan.audit_sums = keep(plan, "audit sums", Use::step_data,
                           2 * std::ssize(plan.units) * int64_t(sizeof(int64_t)));
  }
  if (!plan.graphs[1].ops.empty()) place_evaluation(plan);
  place_constants(plan);
  place_disk_window(plan);
  spread_homes(plan);
  for (Unit& unit : plan.units) place_unit(plan, unit);
}

}  // namespace zero::plan
