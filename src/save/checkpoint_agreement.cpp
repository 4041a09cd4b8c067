#include "src/save/checkpoint_agreement.hpp"

#include <cstdlib>

namespace zero::save {

Problem first_problem(const launch::Peers& peers, const launch::DiskWork& disk,
                      const std::function<void()>& work) {
  std::string mine;
  launch::SignOfLife sign(peers, disk);
  try {
    work();
  } catch (const Error& error) {
    if (error.exit() == Exit::kInternal) throw;
    mine = text(int(error.exit()), " ", error.what());
    sign.fail();
  }
  sign.finish();
  const std::vector<std::string> all = peers.share(mine);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    const size_t space = all[rank].find(' ');
    return {.exit = Exit(std::atoi(all[rank].c_str())),
            .what = all[rank].substr(space + 1),
            .rank = int(rank)};
  }
  return {};
}

}  // namespace zero::save
