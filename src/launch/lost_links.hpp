#pragma once

#include <map>
#include <string>
#include <vector>

#include "zero/launch/board.hpp"

namespace zero::launch {

/// The node of each address.
using NodeAddresses = std::map<std::string, std::string>;

/// Returns the links from this node, `host`, to others on which a connection is mute, each once.
/// `addresses` are those of all nodes but this.
std::vector<LostLink> lost_links(const std::string& host, const NodeAddresses& addresses);

}  // namespace zero::launch
