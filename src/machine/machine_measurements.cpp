#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "src/machine/collective_rates.hpp"
#include "src/machine/probe_steps.hpp"
#include "src/machine/probes.hpp"
#include "zero/advise/memory_limit.hpp"
#include "zero/advise/outlook.hpp"
#include "zero/base/text.hpp"
#include "zero/comm/backends.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/device.hpp"
#include "zero/io/tiers/disk_probe.hpp"
#include "zero/machine/machine.hpp"
#include "zero/state/communicators.hpp"
#include "zero/state/engine.hpp"

namespace zero::machine {
namespace {

constexpr double kGiga = 1e-9;
/// Ranks compare rates as integers of this fraction.
constexpr double kParts = 1000;
/// The fraction for shares of a peak rate.
constexpr double kFineParts = 1e6;
/// Repetitions of a slow measurement. Odd like all such numbers, so the middle value is the median.
constexpr int kFewRepetitions = 3;
/// The index of the summing communicator among those of a run.
constexpr size_t kSumming =
    size_t(std::ranges::find(plan::kCollectiveLanes, plan::Lane::reduce) - plan::kCollectiveLanes);

std::string number(double value) { return format(value < 100 ? "%.2f" : "%.0f", value); }

/// Returns a communicator of the ranks with the same `part`, by the back end of a run over several
/// nodes: within a node by shared memory. REQUIRES: all parts have equally many ranks. Collective
/// over all ranks.
std::unique_ptr<comm::Communicator> make_part(const launch::Session& session, int part) {
  const comm::Backend backend = state::backend_of(session);
  if (backend == comm::Backend::nccl) return comm::make_nccl({.part = part});
  auto of_host = comm::all_ranks_share_a_node(part) ? comm::make_shm({.part = part})
                                                    : comm::make_mpi({.part = part});
  return backend == comm::Backend::staged ? comm::make_host_staged(std::move(of_host), {})
                                          : std::move(of_host);
}

}  // namespace

NodePosition position_of(const std::vector<std::string>& hosts, int rank) {
  std::map<std::string, int> ranks_of;
  std::vector<std::string> nodes;
  NodePosition mine;
  for (size_t r = 0; r < hosts.size(); ++r) {
    const int on_node = ranks_of[hosts[r]]++;
    if (on_node == 0) nodes.push_back(hosts[r]);
    if (int(r) == rank) mine.on_node = on_node;
  }
  const auto here = std::find(nodes.begin(), nodes.end(), hosts[size_t(rank)]);
  mine.node = int(here - nodes.begin());
  mine.nodes = int(nodes.size());
  mine.node_ranks = ranks_of.begin()->second;
  for (const auto& [host, ranks] : ranks_of) {
    if (ranks != mine.node_ranks) return {mine.nodes, 0, mine.node, mine.on_node};
  }
  return mine;
}

Measurements::Measurements(launch::Session& session, std::vector<const model::Family*> families)
    : session_(session), families_(std::move(families)) {
  figures_.host = session.host();
  figures_.ranks = session.ranks();
  figures_.threads = session.threads();
  const int sharers = session.shares_devices() ? session.node_ranks() : 1;
  const advise::MemoryLimit limit = advise::rank_limit({}, session.node_ranks(), sharers);
  figures_.device_bytes = session.peers().smallest(limit.bytes);
  if (drives_devices()) {
    figures_.host_bytes = session.peers().smallest(limit.host_bytes * session.node_ranks());
    if (!session.shares_devices()) {
      figures_.gpus_per_node = session.peers().smallest(session.node_ranks());
    }
  }
  add_row({"memory a rank may use", "GiB", 1}, text(limit.bytes >> 30, " GiB, ", limit.source));
}

void Measurements::add_row(const Row& row, const std::string& words) {
  append(table_, "  %-28s ", row.what);
  table_ += words + "\n";
}

double Measurements::measure(const Row& row, const std::function<double()>& rate) {
  std::vector<double> values;
  double spent = 0;
  for (int i = 0; i < row.repetitions; ++i) {
    // The exchange starts all ranks together and tells them the slowest time.
    const int64_t longest = session_.peers().largest(int64_t(spent * kParts));
    if (i == kFewRepetitions && double(longest) > row.enough_seconds * kParts) break;
    double mine = 0;
    spent += seconds_of([&] { mine = rate(); });
    const int64_t least = session_.peers().smallest(int64_t(mine * kParts));
    if (least > 0) values.push_back(double(least) / kParts);
  }
  if (values.empty()) {
    add_row(row, "too slow to be measured in a moment");
    return 0;
  }
  std::sort(values.begin(), values.end());
  const double median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  add_row(row,
          text(number(median * row.of_unit), " ", row.unit, "   median of ", values.size(), ", ",
               number(values.front() * row.of_unit), " to ", number(values.back() * row.of_unit)));
  return median;
}

double Measurements::product_rate(const char* what, Dtype dtype) {
  return measure({what, "GFLOP/s", kGiga}, [&] {
    return advise::measure_product_peak(session_.threads(), dtype, advise::kReportSeconds);
  });
}

void Measurements::products() {
  figures_.fp32 = product_rate("products, fp32", Dtype::f32);
  figures_.bf16 = product_rate("products, bf16", Dtype::bf16);
  figures_.fp16 = product_rate("products, fp16", Dtype::f16);
}

/// A type and the members that hold its figures.
struct Measurements::Type {
  Dtype dtype;
  std::string name;
  double advise::MachineFigures::*step, advise::MachineFigures::*op;
};

plan::Machine Measurements::machine_by(const Type& type,
                                       const advise::MachineFigures& figures) const {
  return advise::machine_of(figures, type.dtype, figures.host);
}

/// Returns steps with their forecast by peak rates.
ProbeSteps Measurements::probe_steps(const Type& type, const model::Probe& probe) const {
  return {probe, machine_by(type, figures_), session_.threads(), type.dtype};
}

/// Takes a few steps together on all ranks, to time their ops.
void Measurements::take_few(ProbeSteps& steps) {
  for (int i = 0; i < kFewRepetitions; ++i) {
    session_.peers().largest(0);
    steps.step();
  }
}

void Measurements::add_kinds(const Type& type, const ProbeSteps& steps,
                             advise::MachineFigures& found) {
  for (const auto& [kind, share] : steps.shares_of_kinds()) {
    const int64_t least = session_.peers().smallest(int64_t(share * kFineParts));
    if (least > 0) found.kinds.emplace(type.name + "." + kind, double(least) / kFineParts);
  }
}

void Measurements::add_exponentials(const Type& type, const ProbeSteps& steps,
                                    advise::MachineFigures& found) {
  constexpr double kPicoseconds = 1e12;
  for (const auto& [kind, seconds] : steps.exponentials_of_kinds(machine_by(type, found))) {
    const int64_t most = session_.peers().largest(int64_t(seconds * kPicoseconds));
    if (most > 0) found.exponentials.emplace(type.name + "." + kind, double(most) / kPicoseconds);
  }
}

void Measurements::add_other_kinds(const Type& type, advise::MachineFigures& found) {
  std::set<decltype(model::Family::probe)> known = {families_.front()->probe};
  for (const model::Family* family : families_) {
    // Rows of one table have one probe.
    if (!known.insert(family->probe).second) continue;
    ProbeSteps steps = probe_steps(type, family->probe(model::ProbeSize::host));
    take_few(steps);
    add_kinds(type, steps, found);
    add_exponentials(type, steps, found);
  }
}

void Measurements::add_brief_steps(const Type& type, advise::MachineFigures& found) {
  ProbeSteps brief(families_.front()->probe(model::ProbeSize::brief), machine_by(type, found),
                   session_.threads(), type.dtype);
  const std::string what = "a brief step, " + type.name;
  const double rate =
      measure({.what = what.c_str(), .unit = "a second", .of_unit = 1, .repetitions = 15},
              [&] { return 1 / std::max(brief.step(), 1e-9); });
  if (rate > 0) found.*type.op = std::max(0.0, (1 / rate - brief.expected()) / double(brief.ops()));
}

void Measurements::add_steps(const Type& type, advise::MachineFigures& found) {
  if (advise::product_flops(figures_, type.dtype) == 0) return;
  const auto size = drives_devices() ? model::ProbeSize::device : model::ProbeSize::host;
  const model::Family& family = *families_.front();
  const std::string what = "a step, " + type.name;
  ProbeSteps steps = probe_steps(type, family.probe(size));
  found.*type.step = measure(
      {.what = what.c_str(), .unit = "% of these rates", .of_unit = 100, .enough_seconds = 1},
      [&] { return steps.share_of_a_step(); });
  if (drives_devices() || found.*type.step == 0) return;
  add_kinds(type, steps, found);
  ProbeSteps narrow = probe_steps(type, family.probe(model::ProbeSize::narrow));
  take_few(narrow);
  add_exponentials(type, narrow, found);
  add_other_kinds(type, found);
  add_brief_steps(type, found);
}

void Measurements::add_dropout(advise::MachineFigures& found) {
  model::Probe probe = families_.front()->probe(model::ProbeSize::host);
  const auto rate = probe.model.numbers.rates.find("dropout");
  if (drives_devices() || found.step_fp32 == 0 || rate == probe.model.numbers.rates.end()) return;
  rate->second = 0.125;
  ProbeSteps steps(probe, advise::machine_of(found, Dtype::f32, found.host), session_.threads(),
                   Dtype::f32);
  found.random = measure({.what = "dropout, random numbers", .unit = "million/s", .of_unit = 1e-6},
                         [&] { return steps.draws_a_second(); });
}

void Measurements::steps() {
  using Figures = advise::MachineFigures;
  const Type types[] = {{Dtype::f32, "fp32", &Figures::step_fp32, &Figures::op_fp32},
                        {Dtype::bf16, "bf16", &Figures::step_bf16, &Figures::op_bf16},
                        {Dtype::f16, "fp16", &Figures::step_fp16, &Figures::op_fp16}};
  Figures found = figures_;
  for (const Type& type : types) add_steps(type, found);
  add_dropout(found);
  figures_ = std::move(found);
}

void Measurements::memory() {
  MemoryRates rates(session_.threads());
  const auto triad = [&] { return rates.triad(0.2); };
  if (!drives_devices()) {
    figures_.stream = measure({"memory, triad", "GB/s", kGiga}, triad);
    return;
  }
  // A copy reads and writes.
  figures_.stream = 2 * copy_rate("copies within the device", Place::device, Place::device);
  figures_.host_stream = measure({"host memory, triad", "GB/s", kGiga}, triad);
}

double Measurements::copy_rate(const char* what, Place from, Place to) {
  constexpr int64_t kBytes = int64_t(64) << 20;
  const int copies = drives_devices() ? 8 : 1;  // enough to hide the time of queueing
  Arena source(kBytes, from), target(kBytes, to);
  source.touch(1);
  target.touch(1);
  Stream stream(1);
  return measure({what, "GB/s", kGiga, 9}, [&] {
    return copies * double(kBytes) / seconds_of([&] {
             for (int i = 0; i < copies; ++i) {
               copy_bytes(stream, {source.data(), size_t(kBytes)}, target.data());
             }
             stream.wait();
           });
  });
}

/// On the host, device memory is host memory, so either way is a copy by one thread.
void Measurements::copies() {
  figures_.h2d = copy_rate("copies, host to device", Place::pinned, Place::device);
  figures_.d2h = copy_rate("copies, device to host", Place::device, Place::pinned);
}

void Measurements::collectives() {
  if (session_.ranks() == 1) {
    add_row({"collectives", "", 0}, "not measured: one rank; mpirun -n 2 zeroapp calibrate does");
    return;
  }
  state::Communicators comms = state::ready_communicators(session_);
  figures_.communicator_bytes = session_.peers().largest(comms.device_bytes);
  if (figures_.communicator_bytes > 0) {
    add_row({"memory of collectives", "", 0}, bytes_text(double(figures_.communicator_bytes)));
  }
  CollectiveRates collective(session_.peers(), std::move(comms.all[kSumming]));
  figures_.all_gather = measure({"all_gather, sent by a rank", "GB/s", kGiga, 15},
                                [&] { return collective.gather_rate(); });
  figures_.reduce_scatter = measure({"reduce_scatter, likewise", "GB/s", kGiga, 15},
                                    [&] { return collective.reduce_rate(); });
  figures_.latency = 1 / measure({"small collectives", "thousand a second", 1e-3},
                                 [&] { return collective.calls_per_second(); });
  links();
}

double Measurements::link_rate(const char* what, int part) {
  CollectiveRates collective(session_.peers(), make_part(session_, part));
  return measure({what, "GB/s", kGiga, 9},
                 [&] { return 2 / (1 / collective.gather_rate() + 1 / collective.reduce_rate()); });
}

/// Within a node all ranks send to each other. Between nodes all ranks send at once, each to those
/// with its place on other nodes.
void Measurements::links() {
  const NodePosition position =
      position_of(session_.peers().share(session_.host()), session_.rank());
  if (position.nodes == 1) return;
  if (position.node_ranks == 0) {
    add_row({"links of and between nodes", "", 0},
            "not measured: nodes have different numbers of ranks; start as many on each");
    return;
  }
  figures_.gpus_per_node = position.node_ranks;
  if (position.node_ranks > 1) {
    figures_.link_gb = kGiga * link_rate("within a node, sent by a rank", position.node);
  }
  const double rail = link_rate("between nodes, likewise", position.on_node);
  figures_.node_link_gb = kGiga * rail * position.node_ranks;
}

void Measurements::disk(const std::string& folder) {
  constexpr double kSeconds = 0.5;
  tiers::DiskProbe probe(folder);
  std::string why;
  const tiers::DiskSetting setting{.uring = aio::make_uring_engine({}, why) != nullptr};
  const auto rate = [&](aio::Pattern pattern) {
    return [&, pattern] { return probe.bytes_per_second(setting, pattern, kSeconds); };
  };
  figures_.disk = folder;
  figures_.read = measure({"disk, read", "GB/s", kGiga}, rate(aio::Pattern::read));
  figures_.write = measure({"disk, written", "GB/s", kGiga}, rate(aio::Pattern::write));
  figures_.mixed = measure({"disk, both together", "GB/s", kGiga}, rate(aio::Pattern::mixed));
  add_row({"written to measure", "", 0}, bytes_text(double(probe.bytes_written())));
}

}  // namespace zero::machine
