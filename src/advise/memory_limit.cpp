#include "zero/advise/memory_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "zero/advise/placement.hpp"
#include "zero/base/error.hpp"
#include "zero/base/process_limits.hpp"
#include "zero/base/text.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/device.hpp"
#include "zero/io/tiers/disk_tier.hpp"
#include "zero/state/disk.hpp"

namespace zero::advise {
namespace {

/// Bytes of a process's own limit kept for use beside the plan, but at most half of the rest.
constexpr int64_t kBesideArena = int64_t(256) << 20;

/// Returns the part of an own limit for arenas. Libraries, stacks and buffers take the other part.
MemoryLimit left_of(const ProcessLimit& limit) {
  if (limit.most < 0) return {};
  const int64_t room = std::max<int64_t>(2, limit.most - limit.used);
  return {room - std::min(kBesideArena, room / 2), limit.source};
}

constexpr const char *kDeviceKey = "memory.device_limit", *kHostKey = "memory.host_limit";

MemoryLimit configured(const RunConfig& config) {
  return {.bytes = config.memory.device_limit, .source = kDeviceKey, .key = kDeviceKey};
}

/// Returns the limit of the machine's device. Without memory of its own, host memory counts too.
MemoryLimit device_of(const plan::Machine& machine) {
  MemoryLimit limit{machine.device_bytes - machine.context_bytes, "machine " + machine.name,
                    !machine.has_memory};
  if (machine.context_bytes > 0) {
    limit.source += text(", ", bytes_text(double(machine.device_bytes)), " less ",
                         bytes_text(double(machine.context_bytes)), " for context and libraries");
  }
  return limit;
}

CommunicatorShare communicators_of(const plan::Machine& machine, int64_t node_ranks,
                                   int64_t ranks) {
  if (!machine.has_memory) return {};
  const bool measured = machine.communicators.measured > 0;
  return {.bytes = machine.communicators.of(ranks, node_ranks),
          .ranks = ranks,
          .source = measured ? "as " + machine.name + " says"
                             : text("of NCCL by published figures, ",
                                    counted(std::min(ranks, node_ranks), "rank"), " of a node"),
          .others = machine.communicators,
          .gpus_per_node = machine.gpus_per_node};
}

/// Leaves room for communicators unless the user has set the plan's limit.
MemoryLimit beside_communicators(MemoryLimit limit, bool said) {
  if (said) {
    limit.communicators.others = {};
    return limit;
  }
  const int64_t taken = limit.communicators.bytes;
  if (taken == 0) return limit;
  limit.bytes = std::max<int64_t>(1, limit.bytes - taken);
  limit.source += text(", less ", bytes_text(double(taken)), " for communicators");
  return limit;
}

std::string shared_by(int node_ranks) {
  return text(" / ", counted(node_ranks, "rank"), " of the node");
}

MemoryLimit with_host(MemoryLimit device, const MemoryLimit& host) {
  device.host_bytes = host.bytes;
  if (host.bytes == 0) return device;
  device.host_source = host.source;
  device.host_key = host.key;
  return device;
}

}  // namespace

MemoryLimit machine_limit(const RunConfig& config, const plan::Machine& machine, int node_ranks,
                          int64_t ranks) {
  const bool said = config.memory.host_limit > 0;
  const std::string source =
      said ? kHostKey
           : text("machine ", machine.name, ", ", bytes_text(double(machine.host_bytes)));
  const bool device_said = config.memory.device_limit > 0;
  MemoryLimit limit = device_said ? configured(config) : device_of(machine);
  limit.communicators = communicators_of(machine, node_ranks, ranks);
  return with_host(beside_communicators(std::move(limit), device_said),
                   {.bytes = (said ? config.memory.host_limit : machine.host_bytes) / node_ranks,
                    .source = source + shared_by(node_ranks),
                    .key = said ? kHostKey : ""});
}

int64_t device_room(const MemoryLimit& limit, int64_t ranks) {
  const CommunicatorShare& share = limit.communicators;
  const bool is_known = share.others.of(2, 2) > 0;
  if (limit.bytes == 0 || ranks == share.ranks || !is_known) return limit.bytes;
  plan::Machine nodes;
  nodes.gpus_per_node = share.gpus_per_node;
  const int64_t node = plan::ranks_on_a_node(nodes, ranks);
  return std::max<int64_t>(1, limit.bytes + share.bytes - share.others.of(ranks, node));
}

MemoryLimit host_limit_from(int64_t available, int64_t group, int node_ranks) {
  const bool grouped = group >= 0 && (available < 0 || group <= available);
  const std::string what = grouped ? "cgroup limit" : "available memory";
  return {(grouped ? group : std::max<int64_t>(0, available)) / node_ranks,
          what + shared_by(node_ranks)};
}

std::vector<ProcessLimit> process_limits() {
  std::ifstream pages("/proc/self/statm");
  int64_t all = 0, skipped = 0, data = 0;
  pages >> all >> skipped >> skipped >> skipped >> skipped >> data;
  const int64_t page = sysconf(_SC_PAGESIZE);
  return {{process_limit(RLIMIT_AS), all * page, "address space, ulimit -v"},
          {process_limit(RLIMIT_DATA), data * page, "data, ulimit -d"}};
}

MemoryLimit within_process(MemoryLimit limit, const std::vector<ProcessLimit>& own) {
  for (const ProcessLimit& each : own) {
    const MemoryLimit left = left_of(each);
    if (left.bytes == 0 || (limit.bytes > 0 && limit.bytes <= left.bytes)) continue;
    limit.bytes = left.bytes;
    limit.source = left.source;
    limit.key = "";
  }
  return limit;
}

MemoryLimit apart_from_host(MemoryLimit limit) {
  const int64_t process = std::exchange(limit.process_bytes, 0);
  if (process > 0 && (limit.host_bytes == 0 || process < limit.host_bytes)) {
    limit.host_bytes = process;
    limit.host_source = limit.process_source;
    limit.host_key = "";
  }
  limit.process_source.clear();
  return limit;
}

MemoryLimit host_limit(const RunConfig& config, int node_ranks) {
  const MemoryLimit host = {.bytes = config.memory.host_limit / node_ranks,
                            .source = kHostKey + shared_by(node_ranks),
                            .key = kHostKey};
  if (config.memory.device_limit > 0) {
    MemoryLimit limit = with_host(configured(config), host);
    const MemoryLimit own = within_process({}, process_limits());
    limit.process_bytes = own.bytes;
    limit.process_source = own.source;
    return drives_devices() ? apart_from_host(limit) : limit;
  }
  MemoryLimit limit = host_limit_from(available_bytes(), group_memory_limit(), node_ranks);
  if (host.bytes > 0 && (limit.bytes == 0 || host.bytes < limit.bytes)) limit = host;
  limit = within_process(limit, process_limits());
  limit.of_host = true;
  return limit;
}

DiskRoom disk_room(const RunConfig& config, int node_ranks) {
  const bool chooses = chooses_homes(config);
  const auto room = [&](Home optimizer, Home parameters) {
    RunConfig placed = config;
    placed.offload_optimizer.device = optimizer;
    placed.offload_param.device = parameters;
    // A plan may be for another machine. A run refuses when it opens the folders.
    if (!chooses && !state::has_disk_folders(placed)) return DiskRoom::kUnknown;
    const std::vector<std::string> folders = state::disk_homes(placed).folders;
    if (folders.empty()) return DiskRoom::kUnknown;
    const int64_t free = tiers::free_bytes(folders);
    return (chooses ? free / 16 * 15 : free) / node_ranks;
  };
  const auto home = [](Home asked, const std::string& folder) {
    const bool taken = asked == Home::automatic && !folder.empty();
    return taken ? Home::nvme : asked == Home::automatic ? Home::none : asked;
  };
  const Home optimizer = home(config.offload_optimizer.device, config.offload_optimizer.nvme_path);
  const Home parameters = home(config.offload_param.device, config.offload_param.nvme_path);
  return {.optimizer = room(optimizer, Home::none),
          .parameters = room(Home::none, parameters),
          .both = room(optimizer, parameters),
          .source = text(chooses ? "15/16 of what" : "what", " is free in nvme_path",
                         shared_by(node_ranks))};
}

MemoryLimit device_limit_from(const DeviceBytes& device, int device_ranks,
                              const MemoryLimit& host) {
  // For workspaces of products, and code loaded at first use.
  constexpr int64_t kLibraryBytes = int64_t(1) << 30;
  MemoryLimit limit{std::max<int64_t>(1, device.free / device_ranks - kLibraryBytes),
                    text("free device memory, beside ", bytes_text(double(device.used)),
                         " of contexts and other programs")};
  if (device_ranks > 1) limit.source += text(" / ", device_ranks, " ranks that share it");
  return with_host(limit, host);
}

MemoryLimit rank_limit(const RunConfig& config, int node_ranks, int device_ranks) {
  const MemoryLimit host = host_limit(config, node_ranks);
  if (!drives_devices() || config.memory.device_limit > 0) return host;
  return device_limit_from({free_device_bytes(), used_device_bytes()}, device_ranks, host);
}

}  // namespace zero::advise
