#include "src/state/node_memory.hpp"

#include <cstdlib>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/device.hpp"

namespace zero::state {

void require_together(const std::vector<HostDemand>& ranks, const std::string& host,
                      int64_t available) {
  int64_t together = 0, count = 0;
  for (const HostDemand& rank : ranks) {
    if (rank.host != host) continue;
    together += rank.bytes;
    ++count;
  }
  if (available < 0 || together <= available) return;
  refuse(Exit::kDoesNotFit, counted(count, "rank"), " on ", host, " take ",
         bytes_text(double(together)), " of host memory together, of which ",
         bytes_text(double(available)),
         " are available - keep less there, start fewer ranks a node, or set memory.host_limit");
}

int64_t host_demand(const setup::Build& build) {
  const int64_t device = build.plan.arena_bytes[size_t(plan::Tier::device)];
  return build.plan.arena_bytes[size_t(plan::Tier::host)] + build.copy_bytes +
         (drives_devices() ? 0 : device);
}

void require_node_memory(launch::Session& session, const setup::Build& build) {
  std::vector<HostDemand> ranks;
  const std::string mine = text(host_demand(build), " ", session.host());
  for (const std::string& told : session.peers().share(mine)) {
    const size_t space = told.find(' ');
    ranks.push_back({told.substr(space + 1), std::atoll(told.c_str())});
  }
  // A control group may hold one rank alone. Each arena is therefore held against its limit, and
  // the sum only against available memory.
  session.on_every_rank([&] { require_together(ranks, session.host(), host_available_bytes()); });
}

}  // namespace zero::state
