#include <cstdio>

#include "src/commands/commands.hpp"
#include "zero/device/device.hpp"
#include "zero/io/tiers/disk_tier.hpp"
#include "zero/launch/session.hpp"
#include "zero/machine/machine.hpp"

namespace zero::commands {

int doctor(const CommandLine& line, int& argc, char**& argv) {
  if (line.card) {
    // Batch scripts call this before MPI is available, so MPI is not started.
    std::printf("%s\n",
                machine::card_name(drives_devices(), usable_devices(), device_trouble()).c_str());
    return 0;
  }
  const launch::Launch launch = launch::current_launch();
  // MPI itself would end them without a word that helps.
  launch::require_joined_launch(launch);
  launch::Session session(argc, argv);
  // Where every task became a job of its own, the first one speaks for all.
  if (launch.tasks > session.ranks() && launch.task > 0) return int(Exit::kUsage);
  // A folder that is none is a mistake on the command line and no finding.
  session.on_every_rank([&] {
    if (line.nvme && session.leads_node()) tiers::DiskFiles({.folders = {*line.nvme}});
  });
  Exit status = Exit::kFinished;
  session.end_all_on_error([&] {
    const machine::Examination found =
        machine::examine(session, {.scratch = line.scratch, .nvme = line.nvme});
    status = found.status;
    if (!session.is_first()) return;
    const std::string out =
        line.json ? found.json
                  : "zeroapp " + version() + " on host " + session.host() + "\n" + found.table;
    std::fputs(out.c_str(), stdout);
    std::fflush(stdout);
  });
  return int(status);
}

}  // namespace zero::commands
