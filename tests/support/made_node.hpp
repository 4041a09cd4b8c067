#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "zero/launch/node_parts.hpp"

namespace zero::testing_support {

/// Files of a node with two sockets of eight cores, a NUMA node each, and four devices: kDevices[0]
/// and [1] at the first socket, [2] and [3] at the second. They go away with the object.
class MadeNode {
 public:
  static constexpr const char* kDevices[] = {"0000:3B:00.0", "0000:5E:00.0", "0000:AF:00.0",
                                             "0000:D8:00.0"};

  explicit MadeNode(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() /
                ("zero-test-" + std::to_string(getpid()) + "-" + name)) {
    write("sys/devices/system/cpu/online", "0-15");
    write("sys/devices/system/node/online", "0-1");
    write("sys/devices/system/node/node0/cpulist", "0-7");
    write("sys/devices/system/node/node1/cpulist", "8-15");
    write("proc/self/status", "Name:\tzeroapp\nMems_allowed:\t3\nMems_allowed_list:\t0-1");
    for (int core = 0; core < 16; ++core) {
      const std::string file = "/topology/physical_package_id";
      write("sys/devices/system/cpu/cpu" + std::to_string(core) + file, core < 8 ? "0" : "1");
    }
    // The kernel's names have small letters.
    const char* const names[] = {"0000:3b:00.0", "0000:5e:00.0", "0000:af:00.0", "0000:d8:00.0"};
    for (int i = 0; i < 4; ++i) {
      write(std::string("sys/bus/pci/devices/") + names[i] + "/numa_node", i < 2 ? "0" : "1");
    }
  }
  ~MadeNode() { std::filesystem::remove_all(folder_); }
  MadeNode(const MadeNode&) = delete;
  MadeNode& operator=(const MadeNode&) = delete;

  launch::NodeParts parts() const { return launch::NodeParts(folder_.string()); }
  void write(const std::string& name, const std::string& line) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << line << "\n";
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace zero::testing_support
