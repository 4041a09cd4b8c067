
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "src/commands/command_settings.hpp"
#include "zero/advise/batch_choice.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/machine_file.hpp"
#include "zero/advise/placement.hpp"
#include "zero/advise/slurm_advice.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/device/device.hpp"
#include "zero/launch/cores.hpp"
#include "zero/launch/thread_room.hpp"
#include "zero/train/evaluator.hpp"

namespace zero::commands {
namespace {

/// Returns the ranks of a node: as typed, or as many as the machine has GPUs for; else all.
int64_t node_ranks(const CommandLine& line, const plan::Machine& machine) {
  const int64_t node = line.ranks_per_node;
  if (node == 0) return plan::ranks_on_a_node(machine, line.ranks);
  if (line.ranks % node != 0) {
    refuse(Exit::kUsage, "command line: --ranks-per-node: ", counted(line.ranks, "rank"),
           " do not fill nodes of ", node, "; write a divisor");
  }
  if (machine.gpus_per_node > 0 && node > machine.gpus_per_node) {
    refuse(Exit::kUsage, "command line: --ranks-per-node: a node of ", machine.name, " has ",
           counted(machine.gpus_per_node, "GPU"), " for ", counted(node, "rank"),
           "; write at most ", machine.gpus_per_node, ", or gpus_per_node = ", node, " there");
  }
  return node;
}

bool is_this_host(const CommandLine& line) {
  return line.machine.empty() || line.machine == "host";
}
/// True if ranks compute on hosts, this one or a measured one.
bool is_host(const CommandLine& line) {
  return is_this_host(line) || advise::is_machine_file(line.machine);
}

/// Returns the most ranks that a refusal may advise; a dry run cannot have more.
int most_ranks(const CommandLine& line) {
  return line.dry_run ? int(line.ranks) : comm::kMostRanks;
}

/// The machine that is planned for.
struct Target {
  plan::Machine machine;
  int64_t threads = 1;  ///< per rank, unless configured
};

/// Returns the rates of --machine, else of run.machine, else of this host.
advise::MachineRates rates_of(const CommandLine& line, const RunConfig& config) {
  if (!line.machine.empty()) return advise::rates_of_option(line.machine, config, line.ranks);
  if (!config.run.machine.empty()) return advise::rates_of_key(config, line.ranks);
  return advise::rates_of_option("host", config, line.ranks);
}

/// Accepts more GPUs a node than a profile has, because it describes a common node. Warns.
void take_typed_gpus(const CommandLine& line, plan::Machine& machine) {
  const bool is_profile = !is_host(line);
  if (!is_profile || line.ranks_per_node <= machine.gpus_per_node) return;
  warn("--ranks-per-node: a node of ", machine.name, " has ", counted(machine.gpus_per_node, "GPU"),
       "; planned for nodes of ", line.ranks_per_node,
       " as typed, each with the host memory and links of that one");
  machine.gpus_per_node = line.ranks_per_node;
}

void warn_of_unknown_link(const plan::Machine& machine, int64_t ranks) {
  if (plan::nodes_of(machine, ranks) == 1 || machine.node_link_bandwidth > 0) return;
  warn(machine.name +
       ": says nothing of the link between nodes: the time of collectives is that of one node; "
       "calibrate on several, or write node_link_gb");
}

/// Returns the threads that a run here would start for each of a node's ranks.
int64_t threads_here(int64_t node_ranks) {
  const int64_t asked = launch::threads_asked(std::getenv);
  if (asked > 0) return asked;
  return std::min<int64_t>(launch::allowed_cores().count() / node_ranks, launch::kMostThreads);
}

/// Refuses --threads on devices, which need no scratch for each thread of their host.
void require_host_for_threads(const CommandLine& line, const plan::Machine& machine) {
  const bool on_host = !machine.has_memory && !(is_this_host(line) && drives_devices());
  if (line.threads == 0 || on_host) return;
  refuse(Exit::kUsage, "command line: --threads: a plan for GPUs is the same at every number of ",
         "threads; leave it out");
}

Target target_of(const CommandLine& line, const RunConfig& config) {
  advise::MachineRates rates = rates_of(line, config);
  plan::Machine& machine = rates.machine;
  require_host_for_threads(line, machine);
  if (!rates.warning.empty()) warn(rates.warning);
  take_typed_gpus(line, machine);
  const int64_t node = node_ranks(line, machine);
  if (!is_this_host(line) || machine.gpus_per_node > 0) machine.node_ranks = node;
  warn_of_unknown_link(machine, line.ranks);
  return {.machine = machine,
          .threads = std::max<int64_t>(1, is_this_host(line) ? threads_here(node) : rates.threads)};
}

setup::World team_of(const CommandLine& line, const RunConfig& config, const Target& target) {
  const int64_t written = line.threads ? line.threads : config.run.threads;
  const int64_t threads = written ? written : target.threads;
  return {.ranks = int(line.ranks),
          .threads = int(threads),
          .gpus = target.machine.has_memory || (is_this_host(line) && drives_devices()),
          .node_ranks = int(node_ranks(line, target.machine))};
}

advise::MemoryLimit limit_of(const CommandLine& line, const RunConfig& config,
                             const plan::Machine& machine) {
  if (is_this_host(line)) {
    const int node = int(node_ranks(line, machine));
    advise::MemoryLimit limit = advise::host_limit(config, node);
    limit.disk = advise::disk_room(config, node);
    return limit;
  }
  return advise::machine_limit(config, machine, int(machine.node_ranks), line.ranks);
}

bool rests_in_host_memory(const RunConfig& config) {
  return config.offload_optimizer.device != Home::none ||
         config.offload_param.device != Home::none ||
         config.offload_activations.home() != Home::none || config.checkpoint.async;
}

/// Returns the ranks a node that a change must have typed, or 0: more ranks on the same node would
/// share the same memory.
int64_t node_ranks_to_type(const CommandLine& line, const plan::Machine& machine,
                           const advise::Change& change) {
  const int64_t now = node_ranks(line, machine);
  if (plan::ranks_on_a_node(machine, change.ranks) == now) return 0;
  return is_host(line) || rests_in_host_memory(change.config) ? now : 0;
}

void print_largest_batch(const RunConfig& config, const setup::World& world,
                         const advise::MemoryLimit& limit) {
  if (config.recompute.mode == Recompute::Mode::automatic) {
    refuse(Exit::kUsage,
           "command line: --max-batch: activation_checkpointing.recompute = \"auto\" ",
           "goes by a micro-batch; write recompute as \"none\", \"selective\" or \"full\"");
  }
  const advise::MemoryLimit within = advise::limit_of_largest(config, limit);
  const int64_t micro = advise::largest_micro_batch(config, world, advise::fits_in(within));
  if (micro == 0) {
    refuse(Exit::kDoesNotFit, "no micro-batch fits in ", bytes_text(double(within.bytes)), " (",
           within.source, ")");
  }
  std::printf("train_micro_batch_size_per_gpu=%lld\n", (long long)micro);
}

void print_report(const advise::PlanReport& report, bool json) {
  if (json) {
    std::fputs(advise::plan_json(report).c_str(), stdout);
    return;
  }
  const setup::Build& build = *report.build;
  const int64_t frozen = graph::frozen_numel(build.plan.graphs[0]);
  const plan::Request& asked = build.plan.request;
  const std::string groups =
      asked.has_groups() ? text(" in groups of ", asked.groups().group_ranks) : "";
  std::printf("%lld parameters, %sstage %d%s, %s, %s, batch %lld = %lld x %lld x %d\n",
              (long long)model::parameter_count(build.recipe),
              frozen > 0 ? text(frozen, " of them frozen, ").c_str() : "", asked.stage,
              groups.c_str(), counted(asked.ranks, "rank").c_str(),
              std::string(name_of(asked.compute)).c_str(), (long long)build.batch.train,
              (long long)build.batch.micro, (long long)build.batch.accumulation, asked.ranks);
  std::fputs(advise::memory_table(report).c_str(), stdout);
  std::fputs(advise::traffic_table(report).c_str(), stdout);
  std::fputs(advise::disk_table(report).c_str(), stdout);
  std::fputs(advise::time_table(report).c_str(), stdout);
}

/// Returns a note on run.epochs: only the data, which a plan lacks, give the steps of an epoch.
std::string length_text(const RunConfig& config) {
  if (config.run.epochs == 0) return "";
  return text("run.epochs = ", config.run.epochs,
              ": the steps come from the data; zeroapp data INPUT counts them\n");
}

/// Returns a line on the lengths of forms, which are seldom written.
std::string forms_text(const RunConfig& config) {
  if (config.data.length_buckets == "none") return "";
  const bool chooses = chooses_lengths(config.data);
  return text(
      "lengths     ",
      chooses ? "chosen from the data, as zeroapp data INPUT shows" : to_text(form_lengths(config)),
      "; bytes and time are those of ", to_text({longest_lengths(config)}), "\n");
}

/// A plan with all that it was made for.
struct Prepared {
  RunConfig config;
  Target target;
  setup::World world;
  advise::MemoryLimit limit;
  advise::Placement placement = {};
};

/// Reads the input and chooses what it leaves open. Without `chooses` the placement is empty.
Prepared prepare(const CommandLine& line, const ConfigInput& input, train::StartModel& start,
                 bool chooses) {
  RunConfig config = input.config;
  Target target;
  input.locate([&] { target = target_of(line, config); });
  setup::World world = team_of(line, config, target);
  input.locate([&] {
    train::count_texts(config, train::first_generation(config, start.opened.get()), world);
  });
  const advise::MemoryLimit limit = limit_of(line, config, target.machine);
  Prepared made{.config = config, .target = target, .world = world, .limit = limit};
  if (!chooses) return made;
  input.locate([&] {
    const advise::Choices batch =
        advise::choose_batch(made.config, made.world, limit, target.machine);
    made.placement = advise::choose_placement(made.config, made.world, limit, target.machine);
    made.placement.choices.insert(made.placement.choices.begin(), batch.begin(), batch.end());
  });
  return made;
}

}  // namespace

int slurm_job(CommandLine line) {
  line.ranks = line.nodes * line.gpus;
  line.ranks_per_node = line.gpus;
  if (line.ranks > comm::kMostRanks) {
    refuse(Exit::kUsage, "command line: --nodes: ", line.nodes, " x ", line.gpus,
           " ranks are too many; write at most ", comm::kMostRanks, " in all");
  }
  train::StartModel start;
  const ConfigInput input = read_settings(line, start);
  const Prepared made = prepare(line, input, start, true);
  const advise::PlanReport report =
      advise::report_plan(made.placement.build, made.target.machine, made.limit);
  const advise::SlurmJob job{.nodes = line.nodes,
                             .node_ranks = line.gpus,
                             .threads = made.world.threads,
                             .has_gpus = made.world.gpus};
  advise::refuse_unless_fits(report, made.config, made.world,
                             {.most_ranks = int(line.ranks), .node_ranks = {}, .typed = {}});
  std::fputs(advise::slurm_lines(report, job).c_str(), stdout);
  std::fflush(stdout);
  return 0;
}

int plan(const CommandLine& line) {
  train::StartModel start;
  const ConfigInput input = read_settings(line, start);
  const std::string unpinned = advise::vain_pin_memory(input, !is_host(line) || drives_devices());
  if (!unpinned.empty()) warn(unpinned);
  Prepared made = prepare(line, input, start, !line.max_batch);
  auto& [config, target, world, limit, placement] = made;
  if (line.max_batch) {
    print_largest_batch(config, world, limit);
    return 0;
  }
  const setup::Build& build = placement.build;
  for (const std::string& warning : advise::plan_warnings(input, build.plan)) warn(warning);
  const advise::PlanReport report = advise::report_plan(build, target.machine, limit);
  if (!line.json) {
    std::fputs(placement.text().c_str(), stdout);
    std::fputs(length_text(config).c_str(), stdout);
    std::fputs(forms_text(config).c_str(), stdout);
  }
  print_report(report, line.json);
  std::fflush(stdout);
  const auto node_ranks_of = [&](const advise::Change& change) {
    return node_ranks_to_type(line, target.machine, change);
  };
  advise::refuse_unless_fits(
      report, config, world,
      {.most_ranks = most_ranks(line), .node_ranks = node_ranks_of, .typed = line.overrides});
  return 0;
}

}  // namespace zero::commands
