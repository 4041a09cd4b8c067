#include "src/launch/lost_links.hpp"

#include <algorithm>

#include "zero/base/network.hpp"

namespace zero::launch {

Links links_of(const std::string& host, const NodeAddresses& addresses) {
  const std::vector<OwnAddress> own = own_addresses();
  Links links;
  for (const Connection& connection : own_connections()) {
    const auto to = addresses.find(connection.peer);
    if (to == addresses.end()) continue;
    links.queued_bytes += connection.queued_bytes;
    if (!connection.is_mute) continue;
    const auto by = std::ranges::find(own, connection.own, &OwnAddress::address);
    const LostLink link{.from = host,
                        .to = to->second,
                        .address = connection.peer,
                        .interface = by == own.end() ? "" : by->interface};
    if (std::ranges::find(links.lost, link) == links.lost.end()) links.lost.push_back(link);
  }
  return links;
}

}  // namespace zero::launch
