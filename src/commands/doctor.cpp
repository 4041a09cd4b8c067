#include <cstdio>

#include "src/commands/commands.hpp"
#include "src/commands/doctor/probes.hpp"
#include "src/commands/doctor/report.hpp"
#include "zero/device/device.hpp"
#include "zero/launch/session.hpp"

namespace zero::commands {
namespace {

/// Whether every rank has something to compute on.
bool can_compute(launch::Session& session) {
  return session.peers().smallest(!drives_devices() || !usable_devices().empty()) != 0;
}

/// Every rank comes to each field together, so that what is measured is measured by all at once.
Findings look(launch::Session& session, const CommandLine& line) {
  const bool computes = can_compute(session);
  if (computes) session.start_threads(0, true);
  Findings all;
  const auto add = [&](Findings findings) {
    for (Finding& finding : findings) all.push_back(std::move(finding));
    session.peers().largest(0);
  };
  add(mpi_findings(session));
  add(core_findings(session));
  add(device_findings(session));
  if (computes) add(arithmetic_findings(session));
  add(memory_findings(session));
  add(sharing_findings(session));
  add(disk_findings(session, line.scratch));
  // Ranks of one node share its disk.
  if (line.nvme) add(session.leads_node() ? nvme_findings(*line.nvme) : Findings());
  return all;
}

std::vector<Line> gather(launch::Session& session, const Findings& mine) {
  std::vector<Findings> ranks;
  for (const std::string& packed : session.peers().share(pack_findings(mine))) {
    ranks.push_back(unpack_findings(packed));
  }
  return join_findings(ranks);
}

}  // namespace

int doctor(const CommandLine& line, int& argc, char**& argv) {
  if (line.card) {
    // Batch scripts ask, to whom MPI is no friend: it is not started.
    std::printf("%s\n", card_name(drives_devices(), usable_devices(), device_trouble()).c_str());
    return 0;
  }
  const launch::Launch launch = launch::current_launch();
  // MPI itself would end them without a word that helps.
  launch::require_joined_launch(launch);
  launch::Session session(argc, argv);
  // Where every task became a job of its own, the first one speaks for all.
  if (launch.tasks > session.ranks() && launch.task > 0) return int(Exit::kUsage);
  // A folder that is none is a mistake on the command line and no finding.
  session.together([&] {
    if (line.nvme && session.leads_node()) tiers::DiskFiles({.folders = {*line.nvme}});
  });
  Exit status = Exit::kFinished;
  session.alone([&] {
    const std::vector<Line> lines = gather(session, look(session, line));
    status = status_of(lines);
    if (!session.is_first()) return;
    const std::string out = line.json ? doctor_json(lines, session.ranks())
                                      : "zeroapp " + version() + " on host " + session.host() +
                                            "\n" + doctor_table(lines, session.ranks());
    std::fputs(out.c_str(), stdout);
    std::fflush(stdout);
  });
  return int(status);
}

}  // namespace zero::commands
