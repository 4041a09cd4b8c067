// What tools/step_picture.py draws and tools/step_table.py lists: print_step MACHINE RANKS
// INPUT.toml [key=value ...] compiles the plan of a training and prints its step as JSON: for what
// each op waits, when it runs by the forecast, and from when to when each buffer of the device
// holds something. A step that is a loop is refused.

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"
#include "zero/graph/operation.hpp"
#include "zero/model/family.hpp"
#include "zero/setup/build.hpp"

namespace zero {
namespace {

using Json = nlohmann::ordered_json;

/// When an op or a buffer begins and ends, in seconds of the step.
struct Span {
  double begin = 0, end = 0;
};

/// How long each op of a step takes: the forecast of a step that is this op alone.
std::vector<double> seconds_of_ops(plan::Plan plan, const plan::Machine& machine) {
  const std::vector<plan::PlanOp> ops = plan.bodies[plan::kStep].ops;
  for (plan::Body& body : plan.bodies) body.ops.clear();
  std::vector<double> seconds;
  for (const plan::PlanOp& op : ops) {
    plan::PlanOp alone = op;
    alone.done_by = -1;
    alone.waits.clear();
    alone.anew.clear();
    plan.bodies[plan::kStep].ops = {alone};
    seconds.push_back(plan::forecast(plan, machine).step_seconds);
  }
  return seconds;
}

/// The step on a clock: an op begins when its lane is free and its waits are over.
std::vector<Span> spans_of_ops(const plan::Plan& plan, const std::vector<double>& seconds) {
  std::array<std::vector<double>, plan::kLanes> ends;
  std::vector<Span> spans;
  const std::vector<plan::PlanOp>& ops = plan.bodies[plan::kStep].ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    std::vector<double>& lane = ends[size_t(ops[i].lane)];
    double begin = lane.empty() ? 0 : lane.back();
    for (const plan::Wait& wait : ops[i].waits) {
      begin = std::max(begin, ends[size_t(wait.lane)][size_t(wait.count) - 1]);
    }
    spans.push_back({begin, begin + seconds[i]});
    lane.push_back(spans.back().end);
  }
  return spans;
}

Json ops_json(const plan::Plan& plan, const std::vector<Span>& spans) {
  Json all = Json::array();
  const plan::Body& body = plan.bodies[plan::kStep];
  for (size_t i = 0; i < body.ops.size(); ++i) {
    const plan::PlanOp& op = body.ops[i];
    std::string name = plan::name_of(op.kind, plan.request.optimizer), pass;
    int32_t unit = op.unit;
    if (op.kind == plan::Kind::compute) {
      const graph::Op& made = plan.graphs[0].ops[size_t(op.graph_op)];
      name = made.kind->name;
      pass = made.repeated ? "again" : made.backward ? "backward" : "forward";
      unit = made.unit;
    }
    Json waits = Json::array();
    for (const plan::Wait& wait : op.waits) {
      waits.push_back({{"lane", plan::name_of(wait.lane)}, {"count", wait.count}});
    }
    all.push_back({{"lane", plan::name_of(op.lane)},
                   {"name", name},
                   {"pass", pass},
                   {"unit", unit},
                   {"micro", op.micro},
                   {"waits", waits},
                   {"begin", spans[i].begin},
                   {"end", spans[i].end}});
  }
  return all;
}

/// A buffer that keeps its content between steps holds it all the time, any other one from the
/// first op that names it to the last.
Json buffers_json(const plan::Plan& plan, const std::vector<Span>& spans) {
  const std::vector<plan::PlanOp>& ops = plan.bodies[plan::kStep].ops;
  std::vector<Span> lives(plan.buffers.size(), {.begin = 1e300, .end = 0});
  std::vector<size_t> last_uses(plan.buffers.size());
  double end = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    end = std::max(end, spans[i].end);
    for (const plan::Operand& operand : ops[i].operands) {
      if (operand.buffer < 0) continue;
      Span& life = lives[size_t(operand.buffer)];
      life = {std::min(life.begin, spans[i].begin), std::max(life.end, spans[i].end)};
      last_uses[size_t(operand.buffer)] = i;
    }
  }
  Json all = Json::array();
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::Buffer& buffer = plan.buffers[b];
    const Span life = buffer.persistent ? Span{0, end} : lives[b];
    if (buffer.tier != plan::Tier::device || life.end <= life.begin) continue;
    all.push_back({{"name", buffer.name},
                   {"use", plan::name_of(buffer.use)},
                   {"bytes", buffer.bytes},
                   {"last_use", last_uses[b]},
                   {"begin", life.begin},
                   {"end", life.end}});
  }
  return all;
}

void print_step(const std::string& machine_name, int ranks, const std::string& input,
                std::span<const std::string> settings) {
  const model::Catalogue catalogue = model::catalogue();
  const RunConfig config = read_config_file(catalogue.models, input, settings).config;
  plan::Machine machine = plan::machine_profile(machine_name, setup::compute_dtype(config));
  machine.node_ranks = plan::ranks_on_a_node(machine, ranks);
  const setup::World world = {.ranks = ranks, .threads = 1, .gpus = machine.has_memory};
  const plan::Plan plan = setup::build(config, world).plan;
  if (plan.bodies[plan::kStep].loop.is_there()) refuse(Exit::kUsage, "the step is a loop");
  const std::vector<Span> spans = spans_of_ops(plan, seconds_of_ops(plan, machine));
  Json all = {{"input", input},
              {"settings", settings},
              {"machine", machine_name},
              {"ranks", ranks},
              {"stage", plan.request.stage},
              {"unit_names", plan.graphs[0].unit_names},
              {"arena_bytes", plan.arena_bytes[size_t(plan::Tier::device)]},
              {"step_seconds", plan::forecast(plan, machine).step_seconds},
              {"ops", ops_json(plan, spans)},
              {"buffers", buffers_json(plan, spans)}};
  std::puts(all.dump().c_str());
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: print_step MACHINE RANKS INPUT.toml [key=value ...]\n");
    return 2;
  }
  try {
    const std::vector<std::string> settings(argv + 4, argv + argc);
    zero::print_step(argv[1], std::stoi(argv[2]), argv[3], settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "print_step: %s\n", error.what());
    return 1;
  }
}
