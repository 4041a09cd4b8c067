#include "zero/advise/plan_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "src/advise/memory_needs.hpp"
#include "src/advise/zero_formula.hpp"
#include "zero/base/text.hpp"
#include "zero/state/disk.hpp"

namespace zero::advise {
namespace {

using plan::Use;

constexpr const char* kVerbs[] = {"all_gather", "reduce_scatter", "all_reduce"};

constexpr const char* kUnexplained = "for no known reason";

int64_t parameters(const PlanReport& report) {
  return model::parameter_count(report.build->recipe);
}
const plan::Request& request(const PlanReport& report) { return report.build->plan.request; }

/// The parameters for ZeRO's formulas.
struct Counted {
  int64_t all, frozen;
};
Counted parameters_of(const PlanReport& report) {
  return {parameters(report), graph::frozen_numel(report.build->plan.graphs[0])};
}

int64_t nodes(const PlanReport& report) {
  return plan::nodes_of(report.machine, request(report).ranks);
}

/// Returns the number of nodes, to follow the machine's name; "" if ranks share one node.
std::string nodes_text(const PlanReport& report) {
  const plan::Machine& machine = report.machine;
  if (nodes(report) == 1) return "";
  return text(", ", nodes(report), " nodes of ", counted(machine.node_ranks, "rank"));
}

std::optional<double> formula_bytes(const StateFormula& formula, Use use) {
  switch (use) {
    case Use::weights:
      return formula.weights;
    case Use::gradients:
      return formula.gradients;
    case Use::optimizer:
      return formula.optimizer;
    default:
      return std::nullopt;
  }
}

/// Returns the formula's elements for a verb of the step; nothing for the small all-reduce.
std::optional<double> formula_elements(const TrafficFormula& formula, size_t verb) {
  if (verb > 1) return std::nullopt;
  return verb == 0 ? formula.gathered : formula.reduced;
}

/// Returns elements of units, including padding for equal shards and alignment.
Counted padded_parameters(const PlanReport& report) {
  Counted numel{0, 0};
  for (const plan::Unit& unit : report.build->plan.units) {
    numel.all += unit.numel;
    if (unit.frozen) numel.frozen += unit.numel;
  }
  return numel;
}

StateFormula formula_of(const plan::Request& asked, const Counted& counted) {
  return state_formula(asked, counted.all, counted.frozen);
}
TrafficFormula traffic_of(const plan::Request& asked, const Counted& counted) {
  return traffic_formula(asked, counted.all, counted.frozen);
}

/// Returns the reason that gradients at rest differ from the formula by more than padding.
const char* why_other_gradients(const plan::Request& asked) {
  if (asked.optimizer_home != plan::Tier::device) {
    return "those that wait on the host are rounded, and this rank's shard";
  }
  if (asked.micro_batches == 1) return "a single micro-batch on one rank is no sum";
  if (!asked.reproducible) return kUnexplained;
  if (asked.stage == 1) return "only a shard of a reproducible sum is kept";
  return asked.stage == 0 ? "the finished sum is rounded to the compute type" : kUnexplained;
}

const char* why_other_bytes(const plan::Request& asked, Use use) {
  if (use == Use::gradients) return why_other_gradients(asked);
  const plan::Tier home = use == Use::optimizer ? asked.optimizer_home : asked.weight_home;
  return home == plan::Tier::nvme ? "on disk each begins at a block of 64 KiB" : kUnexplained;
}

const char* why_fewer_gathered(const plan::Request& asked) {
  return asked.stage == 3 ? "less often than twice a micro-batch: units stay gathered, see "
                            "zero.stage3_max_reuse_distance"
                          : kUnexplained;
}

/// A formula's number for comparison with the plan's. `padded` is the formula's result with
/// padding.
struct Beside {
  double formula, padded;
  const char* otherwise;  ///< reason for a difference beyond padding
};

std::string difference(double planned, const Beside& beside) {
  if (beside.formula == 0) return "";
  const double percent = 100 * (planned / beside.formula - 1);
  std::string out = format("  %+.2f %%", percent);
  if (std::abs(percent) < 0.005) return out;
  const bool is_padding = std::abs(planned - beside.padded) <= 0.01 * beside.padded;
  return out + "  " + (is_padding ? "padding" : beside.otherwise);
}

std::string memory_row(const std::string& name, int64_t bytes) {
  return format("  %-18s %12s", name.c_str(), bytes_text(double(bytes)).c_str());
}

int64_t bytes_on_all_tiers(const PlanReport& report, Use use) {
  int64_t sum = 0;
  for (const auto& tier : report.forecast.bytes) sum += tier[size_t(use)];
  return sum;
}

/// Returns "  1.00 GiB on host" for bytes beside the device.
std::string off_device(const PlanReport& report, Use use) {
  std::string out;
  for (const plan::Tier tier : {plan::Tier::host, plan::Tier::nvme}) {
    const int64_t bytes = report.forecast.bytes[size_t(tier)][size_t(use)];
    if (bytes > 0) out += text("  ", bytes_text(double(bytes)), " on ", plan::name_of(tier));
  }
  return out;
}

std::string memory_formula(const PlanReport& report, Use use, int64_t bytes) {
  const plan::Request& asked = request(report);
  const auto formula = formula_bytes(formula_of(asked, parameters_of(report)), use);
  if (!formula) return "";
  const auto padded = formula_bytes(formula_of(asked, padded_parameters(report)), use);
  return format("   formula %12s", bytes_text(*formula).c_str()) +
         difference(
             double(bytes),
             {.formula = *formula, .padded = *padded, .otherwise = why_other_bytes(asked, use)});
}

std::string traffic_formula_text(const PlanReport& report, size_t verb, int64_t elements) {
  const plan::Request& asked = request(report);
  const auto formula = formula_elements(traffic_of(asked, parameters_of(report)), verb);
  if (!formula) return "";
  const auto padded = formula_elements(traffic_of(asked, padded_parameters(report)), verb);
  return format("   formula %.0f elements", *formula) +
         difference(double(elements),
                    {.formula = *formula,
                     .padded = *padded,
                     .otherwise = verb == 0 ? why_fewer_gathered(asked) : kUnexplained});
}

int64_t slot_bytes(const setup::Build& build) { return tiers::SlotTable::bytes_for(build.slotted); }

std::string verdict(const std::vector<Need>& needs) {
  return are_met(needs) ? ": fits\n" : ": does not fit\n";
}

std::string texts_rows(const PlanReport& report) {
  std::string out;
  for (const setup::Texts& texts : report.build->texts) {
    out += memory_row("texts", sum(texts.bytes)) +
           text("   of ", texts.key, ", ", beside_text(*report.build, texts),
                verdict(needs_of(*report.build, report.limit, texts)));
  }
  return out;
}

std::string limit_rows(const PlanReport& report) {
  const MemoryLimit& limit = report.limit;
  std::string out = limit.bytes == 0 ? "  no limit is known\n" : "";
  for (const Need& need : needs_of(*report.build, limit)) {
    out += memory_row(need.row, need.most) + "   " + need.source + verdict({need});
  }
  return out;
}

}  // namespace

PlanReport report_plan(const setup::Build& build, const plan::Machine& machine,
                       const MemoryLimit& limit) {
  return {.build = &build,
          .forecast = plan::forecast(build.plan, machine),
          .limit = limit,
          .machine = machine};
}

std::string memory_table(const PlanReport& report) {
  // Each thread of a host has its own scratch.
  const std::string threads =
      text("   for ", counted(request(report).threads, "thread"), " a rank");
  std::string out = "memory a rank, and ZeRO's formula without padding\n";
  for (size_t use = 0; use < plan::kUses; ++use) {
    const int64_t bytes = bytes_on_all_tiers(report, Use(use));
    if (bytes == 0) continue;
    out += memory_row(plan::name_of(Use(use)), bytes) + memory_formula(report, Use(use), bytes) +
           (Use(use) == Use::scratch && !report.machine.has_memory ? threads : "") +
           off_device(report, Use(use)) + "\n";
  }
  out += memory_row("arena in all", report.device_bytes()) + "\n";
  for (const plan::Tier tier : {plan::Tier::host, plan::Tier::nvme}) {
    const int64_t bytes = report.forecast.arena_bytes[size_t(tier)];
    if (bytes > 0) out += memory_row(text("on ", plan::name_of(tier)), bytes) + "\n";
  }
  if (const int64_t copy = report.build->copy_bytes) {
    out += memory_row("checkpoint copy", copy) + "   host memory, of checkpoint.async\n";
  }
  if (const int64_t slots = slot_bytes(*report.build)) {
    out += memory_row("second slots", slots) + "   on nvme, of checkpoint.async\n";
  }
  if (const CommunicatorShare& share = report.limit.communicators; share.bytes > 0) {
    out += memory_row("communicators", share.bytes) + "   beside the plan, " + share.source + "\n";
  }
  return out + texts_rows(report) + limit_rows(report);
}

std::string traffic_table(const PlanReport& report) {
  std::string out = "sent by a rank in a step\n";
  for (size_t verb = 0; verb < 3; ++verb) {
    const plan::CollectiveForecast& row = report.forecast.collectives[plan::kStep][verb];
    if (row.calls == 0) continue;
    out += format("  %-18s %12lld elements  %12s  %5lld call%s", kVerbs[verb],
                  (long long)row.elements, bytes_text(double(row.bytes)).c_str(),
                  (long long)row.calls, row.calls == 1 ? "" : "s");
    out += traffic_formula_text(report, verb, row.elements);
    if (row.node_bytes > 0) out += "; " + bytes_text(double(row.node_bytes)) + " to other nodes";
    out += "\n";
  }
  return out;
}

std::string disk_table(const PlanReport& report) {
  const plan::DiskForecast& step = report.forecast.disk[plan::kStep];
  if (step.bytes_read + step.bytes_written == 0) return "";
  const int64_t daily = state::a_day(step.bytes_written, report.forecast.step_seconds);
  return format("moved by a rank's disk in a step\n  %-18s %12s\n  %-18s %12s   %s a day\n", "read",
                bytes_text(double(step.bytes_read)).c_str(), "written",
                bytes_text(double(step.bytes_written)).c_str(), bytes_text(double(daily)).c_str());
}

std::string time_table(const PlanReport& report) {
  const plan::Forecast& forecast = report.forecast;
  std::string out =
      format("forecast of a step  %.1f ms, exposed %.1f ms, %.3g TFLOP, by the rates of %s%s\n",
             1e3 * forecast.step_seconds, 1e3 * forecast.exposed_seconds, 1e-12 * forecast.flops,
             report.machine.name.c_str(), nodes_text(report).c_str());
  for (int lane = 0; lane < plan::kLanes; ++lane) {
    const bool on_device = lane <= int(plan::Lane::small);
    if (!on_device && forecast.lane_seconds[size_t(lane)] == 0) continue;
    out += format("  lane %-14s %11.1f ms\n", plan::name_of(plan::Lane(lane)),
                  1e3 * forecast.lane_seconds[size_t(lane)]);
  }
  return out;
}

namespace {

nlohmann::ordered_json tiers_json(const plan::Forecast& forecast) {
  nlohmann::ordered_json json;
  for (size_t tier = 0; tier < plan::kTiers; ++tier) {
    auto& row = json[plan::name_of(plan::Tier(tier))];
    row["arena_bytes"] = forecast.arena_bytes[tier];
    for (size_t use = 0; use < plan::kUses; ++use) {
      row["bytes"][plan::name_of(Use(use))] = forecast.bytes[tier][use];
    }
  }
  return json;
}

nlohmann::ordered_json sent_json(const PlanReport& report) {
  nlohmann::ordered_json json;
  const TrafficFormula formula = traffic_of(request(report), parameters_of(report));
  for (size_t verb = 0; verb < 3; ++verb) {
    const plan::CollectiveForecast& row = report.forecast.collectives[plan::kStep][verb];
    json[kVerbs[verb]] = {{"calls", row.calls},
                          {"elements", row.elements},
                          {"bytes", row.bytes},
                          {"node_bytes", row.node_bytes}};
    const auto elements = formula_elements(formula, verb);
    if (elements) json[kVerbs[verb]]["formula_elements"] = *elements;
  }
  return json;
}

}  // namespace

std::string plan_json(const PlanReport& report) {
  const plan::Request& asked = request(report);
  const plan::Forecast& forecast = report.forecast;
  const StateFormula formula = formula_of(asked, parameters_of(report));
  nlohmann::ordered_json json = {{"ranks", asked.ranks},
                                 {"threads", asked.threads},
                                 {"stage", asked.stage},
                                 {"compute", name_of(asked.compute)},
                                 {"parameters", parameters(report)},
                                 {"frozen_parameters", parameters_of(report).frozen},
                                 {"arena_bytes", report.device_bytes()},
                                 {"limit_bytes", report.limit.bytes},
                                 {"limit_source", report.limit.source},
                                 {"communicator_bytes", report.limit.communicators.bytes},
                                 {"fits", report.fits()}};
  if (asked.has_groups()) json["group_ranks"] = asked.groups().group_ranks;
  json["batch"] = {{"train", report.build->batch.train},
                   {"micro", report.build->batch.micro},
                   {"accumulation", report.build->batch.accumulation}};
  for (size_t use = 0; use < plan::kUses; ++use) {
    json["bytes"][plan::name_of(Use(use))] = forecast.bytes[size_t(plan::Tier::device)][use];
  }
  json["homes"] = {{"optimizer", plan::name_of(asked.optimizer_home)},
                   {"optimizer_share", asked.optimizer_share},
                   {"parameters", plan::name_of(asked.weight_home)}};
  const plan::UpdateSites sites = plan::update_sites(report.build->plan);
  json["updates"] = {{"on_host", sites.on_host},
                     {"streamed_to_device", sites.on_device},
                     {"before_the_norm", sites.speculated}};
  json["tiers"] = tiers_json(forecast);
  json["checkpoint_copy_bytes"] = report.build->copy_bytes;
  json["checkpoint_slot_bytes"] = slot_bytes(*report.build);
  for (const setup::Texts& texts : report.build->texts) {
    json["text_bytes"][texts.key] = sum(beside(*report.build, texts.bytes));
  }
  json["formula_bytes"] = {{"weights", formula.weights},
                           {"gradients", formula.gradients},
                           {"optimizer state", formula.optimizer}};
  json["sent"] = sent_json(report);
  json["disk"] = {{"read_bytes", forecast.disk[plan::kStep].bytes_read},
                  {"written_bytes", forecast.disk[plan::kStep].bytes_written}};
  json["forecast"] = {{"step_seconds", forecast.step_seconds},
                      {"exposed_seconds", forecast.exposed_seconds},
                      {"flops", forecast.flops},
                      {"machine", report.machine.name}};
  for (const auto& [kind, all] : plan::kinds_of(report.build->plan, report.machine))
    json["forecast"]["kinds"][kind] = all.seconds;
  if (nodes(report) > 1) {
    json["nodes"] = {{"count", nodes(report)},
                     {"ranks_of_a_full_one", report.machine.node_ranks},
                     {"host_bytes_of_a_rank", host_bytes(*report.build)},
                     {"host_limit_bytes_of_a_rank", report.limit.host_bytes}};
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

double flops_per_token(const PlanReport& report, int64_t source_length) {
  const graph::Graph& graph = report.build->plan.graphs[0];
  const graph::MicroBatch micro{
      .samples = graph.samples, .length = graph.length, .source_length = source_length};
  const double all = model::flops_per_token(report.build->recipe, micro);
  if (graph::frozen_numel(graph) == 0) return all;
  const double of_ranks = report.forecast.flops * double(request(report).ranks);
  return std::min(all, of_ranks / double(report.build->batch.train * graph.length));
}

}  // namespace zero::advise
