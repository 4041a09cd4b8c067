#include "zero/advise/machine_file.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/state/build.hpp"

namespace zero::advise {
namespace {

/// Ranks share a machine: what one has of it depends on their number. "" if there are as many.
std::string other_launch(const std::string& machine, int64_t measured, bool has_collectives,
                         int64_t ranks) {
  if (ranks > 1 && !has_collectives) {
    return machine + ": was measured on one rank: the time of collectives is a guess";
  }
  if (ranks == measured) return "";
  return text(machine, ": was measured on ", counted(measured, "rank"), ", and the plan has ",
              ranks, ": times may be others");
}

MachineRates read_rates(const std::string& machine, const RunConfig& config, int64_t ranks) {
  const Dtype compute = state::compute_dtype(config);
  if (!is_machine_file(machine)) return {.machine = plan::machine_profile(machine, compute)};
  const MachineFigures figures = read_machine_file(machine);
  return {.machine = machine_of(figures, compute, machine),
          .threads = figures.threads,
          .file = machine_text(figures),
          .warning = other_launch(machine, figures.ranks, figures.all_gather > 0, ranks)};
}

}  // namespace

bool is_machine_file(const std::string& machine) {
  return machine.find_first_of("./") != machine.npos;
}

MachineRates rates_of_option(const std::string& machine, const RunConfig& config, int64_t ranks) {
  try {
    return read_rates(machine, config, ranks);
  } catch (const Error& error) {
    throw Error(error.exit(), text("--machine ", error.what()));
  }
}

MachineRates rates_of_key(const RunConfig& config, int64_t ranks) {
  try {
    return read_rates(config.run.machine, config, ranks);
  } catch (const Error& error) {
    if (error.exit() != Exit::kUsage) throw;
    refuse_settings({"run.machine"}, error.what());
  }
}

}  // namespace zero::advise
