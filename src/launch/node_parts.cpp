#include "zero/launch/node_parts.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "zero/base/text.hpp"

namespace zero::launch {
namespace {

constexpr const char* kCores = "/sys/devices/system/cpu";
constexpr const char* kNumaNodes = "/sys/devices/system/node";
/// A kernel has no more cores.
constexpr int kMostNumber = 1 << 16;

Numbers both(const Numbers& a, const Numbers& b) {
  Numbers common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  return common;
}

/// Returns -1 for a text that is no number.
int number_of(const std::string& word) {
  char* end = nullptr;
  const long number = std::strtol(word.c_str(), &end, 10);
  const bool is_whole = end != word.c_str() && *end == '\0';
  return is_whole && number >= 0 && number <= kMostNumber ? int(number) : -1;
}

}  // namespace

Numbers numbers_of(const std::string& list) {
  std::set<int> numbers;
  std::istringstream in(list);
  for (std::string range; std::getline(in, range, ',');) {
    const size_t dash = range.find('-');
    const int first = number_of(range.substr(0, dash));
    const int last = dash == range.npos ? first : number_of(range.substr(dash + 1));
    if (first < 0 || last < 0) return {};
    for (int number = first; number <= last; ++number) numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

std::string list_text(const Numbers& numbers) {
  std::string out;
  for (size_t end = 0; end < numbers.size();) {
    const size_t first = end++;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    out += text(out.empty() ? "" : ",", numbers[first]);
    if (end - first > 1) out += text("-", numbers[end - 1]);
  }
  return out.empty() ? "-" : out;
}

NodeParts::NodeParts() {
  if (const char* folder = std::getenv("ZERO_NODE_FILES")) folder_ = folder;
}

std::string NodeParts::line_of(const std::string& name) const {
  std::ifstream file(folder_ + name);
  std::string line;
  std::getline(file, line);
  return line;
}

Numbers NodeParts::cores() const {
  const Numbers online = numbers_of(line_of(text(kCores, "/online")));
  const Numbers of_container = numbers_of(line_of("/sys/fs/cgroup/cpuset.cpus.effective"));
  return of_container.empty() ? online : both(online, of_container);
}

Numbers NodeParts::numa_nodes() const { return numbers_of(line_of(text(kNumaNodes, "/online"))); }

Numbers NodeParts::memory_nodes() const {
  const std::string name = "Mems_allowed_list:";
  std::ifstream file(folder_ + "/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const size_t begin = line.find_first_not_of(" \t", name.size());
    return begin == line.npos ? Numbers() : numbers_of(line.substr(begin));
  }
  return {};
}

Numbers NodeParts::cores_of(int numa_node) const {
  return numbers_of(line_of(text(kNumaNodes, "/node", numa_node, "/cpulist")));
}

Numbers NodeParts::numa_nodes_of(const Numbers& cores) const {
  Numbers found;
  for (const int node : numa_nodes()) {
    if (!both(cores_of(node), cores).empty()) found.push_back(node);
  }
  return found;
}

Numbers NodeParts::sockets_of(const Numbers& cores) const {
  std::set<int> found;
  for (const int core : cores) {
    const std::string name = text(kCores, "/cpu", core, "/topology/physical_package_id");
    const int socket = number_of(line_of(name));
    if (socket >= 0) found.insert(socket);
  }
  return {found.begin(), found.end()};
}

int NodeParts::numa_node_of(const std::string& device) const {
  // The kernel writes small letters, CUDA large ones.
  std::string name = device;
  for (char& letter : name) letter = char(std::tolower(uint8_t(letter)));
  return number_of(line_of(text("/sys/bus/pci/devices/", name, "/numa_node")));
}

}  // namespace zero::launch
