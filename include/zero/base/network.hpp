#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zero {

/// An address of this node, "10.78.0.1", and its interface, "eth0".
struct OwnAddress {
  std::string address, interface;
};

/// Returns the addresses of this node, without those that it has for itself alone.
std::vector<OwnAddress> own_addresses();

/// A connection of this node, without an answer to what was sent several times.
struct MuteConnection {
  std::string own, peer;  ///< addresses
};

/// Returns the mute connections of a table of the kernel, /proc/net/tcp or tcp6.
std::vector<MuteConnection> mute_connections(std::string_view table);
/// Returns the mute connections of this node.
std::vector<MuteConnection> mute_connections();

}  // namespace zero
