#pragma once

#include <string>
#include <vector>

namespace zero::launch {

/// Numbers of cores, NUMA nodes or sockets, ascending.
using Numbers = std::vector<int>;

/// Returns the numbers of a list as the kernel writes it, "0-3,8". Empty if it has another form.
Numbers numbers_of(const std::string& list);
/// Returns "0-3,8"; "-" if there are none.
std::string list_text(const Numbers& numbers);

/// The cores, NUMA nodes and sockets of a node, as its kernel tells them in files. What a file does
/// not tell is empty, or -1.
class NodeParts {
 public:
  /// Reads sys and proc in a folder; "": those of this node.
  explicit NodeParts(std::string folder) : folder_(std::move(folder)) {}
  /// Reads the folder in the environment variable ZERO_NODE_FILES, for tests, else this node's.
  NodeParts();

  /// Returns the cores that are online and that this container may use.
  Numbers cores() const;
  Numbers numa_nodes() const;
  /// Returns the NUMA nodes whose memory this process may take.
  Numbers memory_nodes() const;
  Numbers cores_of(int numa_node) const;
  /// Returns the NUMA nodes and the sockets that hold any of these cores.
  Numbers numa_nodes_of(const Numbers& cores) const;
  Numbers sockets_of(const Numbers& cores) const;
  /// Returns the NUMA node to which the bus of a device belongs. `device` is its place on the bus,
  /// "0000:3b:00.0".
  int numa_node_of(const std::string& device) const;

 private:
  /// Returns the first line of a file; "" if it cannot be read.
  std::string line_of(const std::string& name) const;

  std::string folder_;
};

}  // namespace zero::launch
