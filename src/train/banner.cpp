#include "zero/train/banner.hpp"

#include <mpi.h>

#include <Kokkos_Macros.hpp>
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "zero/base/text.hpp"
#include "zero/device/device.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/kernels/product.hpp"

namespace zero::train {
namespace {

/// Returns the text after "name : " in /proc/cpuinfo, of the first processor.
std::string cpuinfo(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(name) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

/// Returns a line per rank; none on a build for the host.
std::string device_lines(launch::Session& session) {
  std::string lines;
  if (!drives_devices()) return lines;
  int rank = 0;
  const std::string mine = device_text() + "; " + session.cores_text();
  for (const std::string& device : session.peers().share(mine)) {
    lines += text("device      rank ", rank++, ": ", device, "\n");
  }
  return lines;
}

/// A name that ends in a number, as nodes have them: "gpu", 7 and two digits of "gpu07".
struct Numbered {
  std::string stem;
  int64_t number = -1;  ///< -1: the name ends otherwise
  size_t digits = 0;

  explicit Numbered(const std::string& name) {
    const size_t end = name.find_last_not_of("0123456789") + 1;
    stem = name.substr(0, end);
    digits = name.size() - end;
    if (digits > 0 && digits < 10) number = std::stoll(name.substr(end));
  }
  bool comes_after(const Numbered& other) const {
    const bool is_alike = number > 0 && stem == other.stem && other.number == number - 1;
    return is_alike && (digits == other.digits || digits == std::to_string(number).size());
  }
};

/// Returns names as "n1-n4, login", at most eight of such ranges.
std::string names_text(const std::vector<std::string>& names) {
  constexpr int kMost = 8;
  std::string out;
  size_t end = 0;
  for (int range = 0; end < names.size(); ++range) {
    if (range == kMost) return text(out, " and ", names.size() - end, " more");
    const size_t first = end++;
    while (end < names.size() && Numbered(names[end]).comes_after(Numbered(names[end - 1]))) ++end;
    out += text(out.empty() ? "" : ", ", names[first]);
    if (end - first > 1) out += text(end - first == 2 ? ", " : "-", names[end - 1]);
  }
  return out;
}

std::string one_level_line(const ExchangeText& exchange) {
  if (exchange.one_level.empty()) return "";
  return text("one level   shards cross to every rank of a node: ", exchange.one_level, "\n");
}

/// Returns " in 2 groups of 4 ranks"; "" without groups.
std::string groups_text(const plan::Request& request) {
  if (!request.has_groups()) return "";
  const plan::Groups groups = request.groups();
  return text(" in ", groups.count(), " groups of ", counted(groups.group_ranks, "rank"));
}

/// Returns shares as "61.0 % of 48x32, 39.0 % of 128x64".
std::string shares_text(const Dataset& data, const PaddingReport& report) {
  std::string words;
  for (size_t i = 0; i < report.shares.size(); ++i) {
    words += text(words.empty() ? "" : ", ", format("%.1f %% ", 100 * report.shares[i]), "of ",
                  to_text({data.form_lengths()[i]}));
  }
  return words;
}

}  // namespace

std::string mpi_text() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  const std::string whole(version, size_t(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

std::string kokkos_text() {
  return text(KOKKOS_VERSION / 10000, ".", KOKKOS_VERSION / 100 % 100, ".", KOKKOS_VERSION % 100);
}

std::string processor_text() {
  std::istringstream flags(cpuinfo("flags"));
  std::string out = cpuinfo("model name");
  for (std::string flag; flags >> flag;) {
    for (const char* used : {"avx2", "avx512f", "avx512_bf16", "amx_bf16"}) {
      if (flag == used) out += " " + flag;
    }
  }
  return out;
}

std::string libraries_text() {
  const std::string attention = kernels::attention_library();
  return text(kernels::product_library(), ", ", attention.empty() ? "" : attention + ", ",
              "Kokkos ", kokkos_text(), ", ", mpi_text());
}

std::string lengths_text(const DataSets& sets, int64_t micro) {
  if (sets.train->form_lengths().empty()) return "";
  const PaddingReport report = padding_of(*sets.train, micro);
  return text("lengths     ", shares_text(*sets.train, report),
              format("; %.1f %% of tokens are padding, ", 100 * report.padding),
              format("%.1f %% with ", 100 * report.padding_of_longest),
              sets.train->form_lengths()[0].source > 0 ? "one pair\n" : "one length\n");
}

std::string places_text(const std::vector<std::string>& hosts) {
  std::map<std::string, int> ranks_of;
  std::vector<std::string> nodes;
  for (const std::string& host : hosts) {
    if (++ranks_of[host] == 1) nodes.push_back(host);
  }
  const std::string ranks = counted(int64_t(hosts.size()), "rank");
  if (nodes.size() == 1) return text(ranks, ", ", hosts.size(), " on host ", nodes[0]);
  int least = int(hosts.size()), most = 0;
  for (const auto& [host, count] : ranks_of) {
    least = std::min(least, count);
    most = std::max(most, count);
  }
  return text(ranks, " on ", nodes.size(), " nodes (", names_text(nodes), "), ",
              least == most ? "" : text(least, " to "), most, " each");
}

std::string banner(const std::string& version, launch::Session& session, const setup::Build& build,
                   const ExchangeText& exchange) {
  const plan::Request& request = build.plan.request;
  const BatchSizes& batch = build.batch;
  const auto& [family, numbers] = build.recipe.model;
  const int64_t layers = block_count(family->settings, numbers);
  const int64_t frozen = graph::frozen_numel(build.plan.graphs[0]);
  return text("zeroapp ", version, ": ", places_text(session.peers().share(session.host())), ", ",
              counted(session.threads(), "thread"), " a rank, collectives by ", exchange.backend,
              "\n", one_level_line(exchange), "processor   ", processor_text(), "\n",
              device_lines(session), "libraries   ", libraries_text(), "\nmodel       ",
              model::parameter_count(build.recipe), " parameters, ",
              frozen > 0 ? text(frozen, " of them frozen, ") : "", counted(layers, "layer"),
              " of width ", numbers.count(kWidth), ", ", name_of(request.compute), ", ZeRO stage ",
              request.stage, groups_text(request), request.reproducible ? ", reproducible" : "",
              "\nbatch       ", counted(batch.train, "sample"), " of ",
              counted(build.plan.graphs[0].length, "token"), " = ", batch.micro, " x ",
              batch.accumulation, " x ", counted(session.ranks(), "rank"), "\n");
}

}  // namespace zero::train
