#include "src/launch/lost_links.hpp"

#include <algorithm>

#include "zero/base/network.hpp"

namespace zero::launch {

std::vector<LostLink> lost_links(const std::string& host, const NodeAddresses& addresses) {
  const std::vector<OwnAddress> own = own_addresses();
  std::vector<LostLink> links;
  for (const MuteConnection& mute : mute_connections()) {
    const auto to = addresses.find(mute.peer);
    const auto by = std::ranges::find(own, mute.own, &OwnAddress::address);
    if (to == addresses.end()) continue;
    const LostLink link{.from = host,
                        .to = to->second,
                        .address = mute.peer,
                        .interface = by == own.end() ? "" : by->interface};
    if (std::ranges::find(links, link) == links.end()) links.push_back(link);
  }
  return links;
}

}  // namespace zero::launch
