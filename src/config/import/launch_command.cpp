#include "src/config/import/launch_command.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "zero/base/text.hpp"

namespace zero {
namespace {

constexpr int64_t kMostRanks = 1'000'000;
constexpr int64_t kMostGpus = 1024;  // per host

const SourceEntry* find_one(const Source& source, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const SourceEntry* entry = find_entry(source, key);
    if (entry && entry->value) return entry;
  }
  return nullptr;
}

/// Returns the first entry that is not empty, because launchers take an empty filter for none.
const SourceEntry* find_filter(const Source& source, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const SourceEntry* entry = find_one(source, {key});
    if (entry && *entry->value != TomlValue("")) return entry;
  }
  return nullptr;
}

std::optional<std::vector<std::string>> parts_of(std::string_view list, char mark) {
  std::vector<std::string> parts;
  for (size_t end = 0; end != list.npos; list.remove_prefix(end == list.npos ? 0 : end + 1)) {
    end = list.find(mark);
    parts.emplace_back(list.substr(0, end));
    if (parts.back().empty()) return std::nullopt;
  }
  return parts;
}

/// Parses "0,1,3". Nothing if a GPU is repeated.
std::optional<std::vector<int64_t>> read_gpus(std::string_view list) {
  const auto parts = parts_of(list, ',');
  std::vector<int64_t> gpus;
  for (const std::string& part : parts.value_or(std::vector<std::string>())) {
    const auto number = python_number(part);
    const auto* gpu = number ? std::get_if<int64_t>(&*number) : nullptr;
    if (!gpu || *gpu < 0 || *gpu >= kMostGpus || std::ranges::count(gpus, *gpu) > 0) return {};
    gpus.push_back(*gpu);
  }
  return parts ? std::optional(gpus) : std::nullopt;
}

/// True for identifiers of NVIDIA's GPUs, each once: "GPU-8932f937,GPU-3b4e0b1a".
bool names_gpus(std::string_view list) {
  const auto parts = parts_of(list, ',');
  const auto named = [&](const std::string& part) {
    return (part.starts_with("GPU-") || part.starts_with("MIG-")) && part.size() > 4 &&
           part.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-/") == part.npos &&
           std::ranges::count(*parts, part) == 1;
  };
  return parts && std::ranges::all_of(*parts, named);
}

/// A host in DeepSpeed's filter.
struct Host {
  std::string name;
  std::vector<int64_t> gpus;  ///< empty: all of the host
};

/// Parses "node1:0,1@node2:0,1". Source: DeepSpeed, launcher/runner.py, parse_resource_filter().
std::optional<std::vector<Host>> read_hosts(std::string_view filter) {
  const auto parts = parts_of(filter, '@');
  if (!parts) return std::nullopt;
  std::vector<Host> hosts;
  for (const std::string& part : *parts) {
    const size_t colon = part.find(':');
    Host host = {.name = part.substr(0, colon), .gpus = {}};
    const bool plain = host.name.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                           "UVWXYZ0123456789._-") == std::string::npos;
    if (!plain || host.name.empty() || host.name[0] == '-') return std::nullopt;
    if (colon != part.npos) {
      const auto gpus = read_gpus(std::string_view(part).substr(colon + 1));
      if (!gpus) return std::nullopt;
      host.gpus = *gpus;
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

/// Returns mpirun's words for a choice of GPUs; "" for the first ones, which ranks take by default.
std::string visible(const std::vector<int64_t>& gpus) {
  std::string list;
  bool first_ones = true;
  for (size_t i = 0; i < gpus.size(); ++i) {
    list += text(i == 0 ? "" : ",", gpus[i]);
    first_ones = first_ones && gpus[i] == int64_t(i);
  }
  return first_ones ? "" : " -x CUDA_VISIBLE_DEVICES=" + list;
}

/// A builder of the launch command, which reports settings that it cannot follow.
class Launch {
 public:
  Launch(Translation& translation, const Source& flags, const ImportFiles& files)
      : translation_(translation), flags_(flags), files_(files) {}

  /// Returns mpirun's words for ranks, hosts and GPUs; "" if no source gives their number.
  std::string words() {
    if (const SourceEntry* filter = find_filter(flags_, {"--include"})) return of_filter(*filter);
    const auto filter_of = [&](std::string_view name) {
      return uses_filters() ? find_filter(files_.accelerate, {name}) : nullptr;
    };
    const SourceEntry* excluded = filter_of("deepspeed_config.deepspeed_exclusion_filter");
    if (excluded) return unknown(*excluded);
    const SourceEntry* included = filter_of("deepspeed_config.deepspeed_inclusion_filter");
    if (included) return of_filter(*included);
    excluded = find_filter(flags_, {"--exclude"});
    const SourceEntry* count = find_one(flags_, {kCounts[0], kCounts[1], kCounts[2]});
    return excluded && count ? refused_beside(*excluded, *count) : of_counts();
  }

 private:
  static constexpr const char* kUnknown = " -n RANKS";
  static constexpr std::string_view kCounts[] = {"--num_gpus", "--num_accelerators", "--num_nodes"};

  std::string unknown(const SourceEntry& entry) {
    translation_.warn(entry,
                      "needs the number of ranks: write it for RANKS in the last line, which "
                      "begins with launch");
    return kUnknown;
  }

  /// True if Accelerate passes its filters to DeepSpeed's launcher. Source: Accelerate,
  /// utils/launch.py, prepare_deepspeed_cmd_env().
  bool uses_filters() const {
    const SourceEntry* machines = of_accelerate("num_machines");
    const SourceEntry* by = of_accelerate("deepspeed_config.deepspeed_multinode_launcher");
    return machines && number_of(*machines->value).value_or(0) > 1 &&
           !(by && *by->value == TomlValue("standard"));
  }

  std::string refused(const SourceEntry& entry, const std::string& what) {
    translation_.refuse(entry, what);
    return kUnknown;
  }

  /// Refuses a filter beside a setting that DeepSpeed does not accept with it.
  std::string refused_beside(const SourceEntry& filter, const SourceEntry& other) {
    return refused(filter, text("DeepSpeed refuses it beside ", said(other), "; keep one"));
  }

  /// Returns the words for a filter, with a rank for each chosen GPU.
  std::string of_filter(const SourceEntry& entry) {
    const auto hosts = read_hosts(plain_text(*entry.value));
    if (!hosts) {
      return refused(entry,
                     "is no list of hosts and their GPUs; write it as localhost:0,1,3 or "
                     "node1:0,1@node2:0,1");
    }
    const SourceEntry* count = find_one(flags_, {kCounts[0], kCounts[1], kCounts[2]});
    if (!count) count = find_filter(flags_, {"--exclude"});
    if (count) return refused_beside(entry, *count);
    for (const Host& host : *hosts) {
      const auto named = [&](const Host& other) { return other.name == host.name; };
      if (std::ranges::count_if(*hosts, named) == 1) continue;
      return refused(entry, text("names ", host.name, " twice; write all of its GPUs once, as ",
                                 host.name, ":0,1"));
    }
    std::string names;
    int64_t ranks = 0;
    for (const Host& host : *hosts) {
      if (host.gpus.empty()) return unknown(entry);
      if (host.gpus != hosts->front().gpus) {
        return refused(entry,
                       "chooses other GPUs on each host, which no line of mpirun does; choose the "
                       "same ones, as node1:0,1@node2:0,1");
      }
      names += text(names.empty() ? " --host " : ",", host.name, ":", host.gpus.size());
      ranks += int64_t(host.gpus.size());
    }
    const bool here = hosts->size() == 1 && hosts->front().name == "localhost";
    return visible(hosts->front().gpus) + text(" -n ", ranks) + (here ? "" : names);
  }

  /// Returns the words for counts. Accelerate counts the processes of all nodes, other launchers
  /// those of one node.
  std::string of_counts() {
    const int64_t machines = count(find_one(flags_, {"--num_nodes", "--nnodes"}));
    const int64_t theirs = count(machines ? nullptr : of_accelerate("num_machines"));
    const int64_t nodes = std::max<int64_t>(machines ? machines : theirs, 1);
    const int64_t each =
        count(find_one(flags_, {"--num_gpus", "--num_accelerators", "--nproc_per_node"}));
    const SourceEntry* all = each ? nullptr : of_accelerate("num_processes");
    const int64_t said = each ? each * nodes : count(all);
    const std::string gpus = chosen();
    if (said == 0) count(find_filter(flags_, {"--exclude", "--hostfile"}));
    if (!all_known_) return gpus + kUnknown;
    if (said == 0 && !files_.of_accelerate) return "";
    const int64_t ranks = std::max<int64_t>(said, 1);
    if (all && ranks % nodes != 0) return refused(*all, uneven(ranks, nodes));
    const std::string places = nodes > 1 ? text(" --map-by ppr:", ranks / nodes, ":node") : "";
    return gpus + text(" -n ", ranks) + places;
  }

  const SourceEntry* of_accelerate(std::string_view key) const {
    return find_one(files_.accelerate, {key});
  }

  /// Returns the count of an entry; 0 if there is no entry or it holds no count.
  int64_t count(const SourceEntry* entry) {
    if (!entry) return 0;
    const auto* count = std::get_if<int64_t>(&*entry->value);
    if (count && *count > 0 && *count <= kMostRanks) return *count;
    unknown(*entry);
    all_known_ = false;
    return 0;
  }

  /// Returns the refusal of ranks that nodes cannot share evenly; Accelerate would start fewer.
  static std::string uneven(int64_t ranks, int64_t nodes) {
    const int64_t low = ranks / nodes * nodes, high = low + nodes;
    return text(ranks, " cannot be shared out evenly over ", counted(nodes, "machine"), "; write ",
                low == 0 ? "" : text(low, " or "), high);
  }

  /// Returns mpirun's words for the GPUs that Accelerate must use; "" for all.
  std::string chosen() {
    const SourceEntry* entry = of_accelerate("gpu_ids");
    const std::string list = entry ? plain_text(*entry->value) : "all";
    if (list == "all" || list.empty()) return "";
    if (names_gpus(list)) return " -x CUDA_VISIBLE_DEVICES=" + list;
    if (const auto gpus = read_gpus(list)) return visible(*gpus);
    translation_.refuse(*entry,
                        "is no list of GPUs, each once; write it as 0,1,3 or GPU-UUID,GPU-UUID, or "
                        "write all");
    return "";
  }

  Translation& translation_;
  const Source& flags_;
  const ImportFiles& files_;
  bool all_known_ = true;
};

}  // namespace

std::string launch_command(Translation& translation, const Source& flags, const ImportFiles& files,
                           const std::string& name) {
  const std::string words = Launch(translation, flags, files).words();
  if (words.empty()) return "";
  return "launch: mpirun --mca odls_base_sigkill_timeout 2" + words + " ./zeroapp " + name;
}

}  // namespace zero
