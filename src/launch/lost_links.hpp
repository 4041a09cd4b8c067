#pragma once

#include <map>
#include <string>
#include <vector>

#include "zero/launch/board.hpp"

namespace zero::launch {

/// The node of each address.
using NodeAddresses = std::map<std::string, std::string>;

/// The links from a node to others.
struct Links {
  std::vector<LostLink> lost = {};  ///< on which a connection is mute, each once
  int64_t queued_bytes = 0;         ///< bytes without an answer, or not sent yet
};

/// Returns the links of this node, `host`. `addresses` are those of all nodes but this.
Links links_of(const std::string& host, const NodeAddresses& addresses);

}  // namespace zero::launch
