#pragma once

#include <cstdint>
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

/// A connection of this node.
struct Connection {
  std::string own, peer;     ///< addresses
  int64_t queued_bytes = 0;  ///< bytes without an answer, or not sent yet
  bool is_mute = false;      ///< what was sent several times has no answer
};

/// Returns the connections of a table of the kernel, /proc/net/tcp or tcp6, that are there or are
/// being made.
std::vector<Connection> connections_in(std::string_view table);
/// Returns the connections of this node.
std::vector<Connection> own_connections();

}  // namespace zero
