// How long is a step whose optimizer states rest on a disk, beside the longer one of what bounds
// it: the same step with its states in memory, and the step's bytes alone, read and written at once
// through a tier of its own on the same disk. The three are taken in turns; ends with status 1 if
// the median of the ratios, round by round, is above 1.15. A GPT-2 of 12 blocks of width 768, 92 M
// parameters, 1.8 GB a step; SAMPLES of 128 tokens make compute long or short beside the disk.
// STAGED units are on their way at once, of 13; 0: as many as training takes by itself.
//   perf_run_disk_step FOLDER SAMPLES [STAGED [THREADS [ROUNDS]]]

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "perf/support/timing.hpp"
#include "src/machine/measured_steps.hpp"
#include "src/model/gpt2.hpp"
#include "tests/support/forward_of.hpp"
#include "zero/base/error.hpp"
#include "zero/compile/compile.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/disk.hpp"

namespace zero::perf {
namespace {

using plan::Kind;
using plan::Tier;

constexpr double kAllowed = 1.15;
constexpr int64_t kLength = 128;
constexpr model::Gpt2 kModel{
    .layers = 12, .width = 768, .heads = 12, .vocabulary = 8192, .positions = kLength};

struct Settings {
  std::string folder;
  int64_t samples = 16;
  int staged = 0, threads = 2, rounds = 9;  ///< 0: as many as training takes by itself
};

plan::Plan make_plan(const Settings& settings, Tier home) {
  const graph::Graph forward =
      model::forward_of(kModel, {.micro = {.samples = settings.samples, .length = kLength},
                                 .compute = Dtype::bf16,
                                 .training = true});
  const graph::Graph training = graph::differentiate(forward);
  plan::Request request{.stage = 1,
                        .compute = Dtype::bf16,
                        .threads = settings.threads,
                        .optimizer_home = home,
                        .staged_units = settings.staged};
  if (settings.staged == 0) {
    const plan::Machine machine = plan::machine_profile("host", request.compute);
    request.staged_units = plan::staged_units_for(request, training, machine);
  }
  return plan::compile(request, training, {});
}

/// One rank of a plan, with a disk where it needs one.
class Training {
 public:
  Training(const Settings& settings, Tier home)
      : plan_(make_plan(settings, home)), comm_(comm::make_self()) {
    run::LaneComms lanes{};
    for (const plan::Lane lane : plan::kCollectiveLanes) lanes[size_t(lane)] = comm_.get();
    const int64_t bytes = plan_.arena_bytes[size_t(Tier::nvme)];
    run::LaneDisks disks;
    if (bytes > 0) {
      const state::DiskHomes place{.folders = {settings.folder}, .aio = {}};
      disk_ = std::make_unique<state::Disk>(place, bytes);
      disks = disk_->lanes();
    }
    steps_ = std::make_unique<machine::MeasuredSteps>(plan_, 0, lanes, disks);
  }

  double step() { return steps_->step(); }
  const plan::Plan& plan() const { return plan_; }

 private:
  plan::Plan plan_;
  std::unique_ptr<comm::Communicator> comm_;
  std::unique_ptr<state::Disk> disk_;
  std::unique_ptr<machine::MeasuredSteps> steps_;
};

/// The transfers of one kind of a step, from memory of their own.
class Stream {
 public:
  Stream(const plan::Plan& plan, Kind kind) : kind_(kind) {
    const size_t on_disk = kind == Kind::disk_read ? 0 : 1;
    for (const plan::PlanOp& op : plan.bodies[plan::kStep].ops) {
      if (op.kind != kind) continue;
      const plan::Operand& operand = op.operands[on_disk];
      moves_.push_back({plan.buffers[size_t(operand.buffer)].offset, operand.bytes});
      bytes_ += operand.bytes;
      longest_ = std::max(longest_, operand.bytes);
    }
    memory_ = Arena(longest_);
    memory_.touch(1);
  }

  void run(tiers::DiskTier& tier) {
    for (const Move& move : moves_) {
      const std::span bytes(memory_.data(), size_t(move.bytes));
      if (kind_ == Kind::disk_read) {
        tier.read(move.offset, bytes);
      } else {
        tier.write(move.offset, bytes, 1);
      }
    }
  }
  int64_t bytes() const { return bytes_; }

 private:
  struct Move {
    int64_t offset, bytes;
  };
  Kind kind_;
  std::vector<Move> moves_;
  int64_t bytes_ = 0, longest_ = 0;
  Arena memory_;
};

/// A step's bytes without a step: what was written at first is read while it is written again in
/// another file, as no two lanes meet in a block.
class Transfers {
 public:
  Transfers(const Settings& settings, const plan::Plan& plan)
      : reads_(plan, Kind::disk_read), writes_(plan, Kind::disk_write) {
    const state::DiskHomes place{.folders = {settings.folder}, .aio = {}};
    for (auto& disk : disks_) {
      disk = std::make_unique<state::Disk>(place, plan.arena_bytes[size_t(Tier::nvme)]);
      writes_.run(*disk->lanes().write);
    }
  }

  double seconds() {
    const auto begin = std::chrono::steady_clock::now();
    std::thread writer([this] { writes_.run(*disks_[1]->lanes().write); });
    reads_.run(*disks_[0]->lanes().read);
    writer.join();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  double bytes() const { return double(reads_.bytes() + writes_.bytes()); }

 private:
  Stream reads_, writes_;
  std::unique_ptr<state::Disk> disks_[2];
};

bool measure(const Settings& settings) {
  Training in_memory(settings, Tier::device), on_disk(settings, Tier::nvme);
  Transfers transfers(settings, on_disk.plan());
  std::vector<double> computing, moving, taking, ratios;
  for (int round = 0; round <= settings.rounds; ++round) {
    const double compute = in_memory.step(), step = on_disk.step(), disk = transfers.seconds();
    if (round == 0) continue;
    computing.push_back(compute), taking.push_back(step), moving.push_back(disk);
    ratios.push_back(step / std::max(compute, disk));
  }
  const bool passed = median(ratios) <= kAllowed;
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf(
      "%lld tokens, %d units staged: compute alone %.0f ms, %.2f GB alone %.0f ms (%.2f GB/s), "
      "step "
      "%.0f ms; step / the longer one %.3f (%.3f to %.3f), allowed %.2f: %s\n",
      (long long)(settings.samples * kLength), on_disk.plan().request.staged_units,
      1e3 * median(computing), transfers.bytes() / 1e9, 1e3 * median(moving),
      transfers.bytes() / 1e9 / median(moving), 1e3 * median(taking), median(ratios), *low, *high,
      kAllowed, passed ? "passed" : "FAILED");
  return passed;
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  if (argc < 3) {
    return std::fprintf(stderr,
                        "usage: perf_run_disk_step FOLDER SAMPLES [STAGED [THREADS [ROUNDS]]]\n"),
           2;
  }
  const auto number = [&](int at, int otherwise) {
    return argc > at ? std::atoi(argv[at]) : otherwise;
  };
  const zero::perf::Settings settings{.folder = argv[1],
                                      .samples = number(2, 16),
                                      .staged = number(3, 0),
                                      .threads = number(4, 2),
                                      .rounds = number(5, 9)};
  const Kokkos::ScopeGuard kokkos(Kokkos::InitializationSettings()
                                      .set_num_threads(settings.threads)
                                      .set_disable_warnings(true));
  try {
    return zero::perf::measure(settings) ? 0 : 1;
  } catch (const zero::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), int(error.exit());
  }
}
