#include <utility>

#include "src/machine/probes.hpp"
#include "src/machine/report.hpp"
#include "zero/machine/machine.hpp"

namespace zero::machine {
namespace {

/// Whether every rank has something to compute on.
bool can_compute(launch::Session& session) {
  return session.peers().smallest(!drives_devices() || !usable_devices().empty()) != 0;
}

Findings look(launch::Session& session, const ExaminedFolders& folders) {
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
  add(disk_findings(session, folders.scratch));
  // Ranks of one node share its disk.
  if (folders.nvme) add(session.leads_node() ? nvme_findings(*folders.nvme) : Findings());
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

Examination examine(launch::Session& session, const ExaminedFolders& folders) {
  const std::vector<Line> lines = gather(session, look(session, folders));
  return {.table = doctor_table(lines, session.ranks()),
          .json = doctor_json(lines, session.ranks()),
          .status = status_of(lines)};
}

}  // namespace zero::machine
