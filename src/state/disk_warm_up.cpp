#include <chrono>

#include "zero/run/disk_window.hpp"
#include "zero/state/engine.hpp"

namespace zero::state {
namespace {

/// A disk that is too small is found now and not by a step: what has two slots is written to the
/// other one, too.
void take_second_slots(Disk& disk, run::DiskWindow& window) {
  if (!disk.has_unreserved_slots()) return;
  disk.freeze();
  window.rewrite();
  disk.thaw();
}

/// What a fill has written says enough, and spares the disk.
DiskRates measured_rates(run::DiskWindow& window, const run::DiskTiming::Way& filled,
                         const DiskRates& expected) {
  constexpr int64_t kEnoughBytes = int64_t(16) << 20;
  constexpr double kTrialSeconds = 0.25;
  const bool writes = filled.bytes < kEnoughBytes;
  const run::DiskTiming trial = window.try_out(kTrialSeconds, writes);
  const run::DiskTiming::Way& written = writes ? trial.write : filled;
  if (trial.read.bytes == 0 || written.bytes == 0) return expected;
  return {.read = trial.read.rate(), .write = written.rate(), .source = "measured at the start"};
}

}  // namespace

DiskRates warm_up_disk(Engine& engine, const DiskRates& expected) {
  using Clock = std::chrono::steady_clock;
  if (!engine.disk()) return {};
  Disk& disk = *engine.disk();
  run::DiskWindow& window = *engine.executor().disk();
  run::DiskTiming::Way filled;
  engine.on_every_rank_at_disk("the zeros that its disk begins with", disk.bytes(), [&] {
    const Clock::time_point start = Clock::now();
    const int64_t before = disk.moved().written;
    window.fill();
    const std::chrono::duration<double> seconds = Clock::now() - start;
    filled = {.bytes = disk.moved().written - before, .seconds = seconds.count()};
    take_second_slots(disk, window);
  });
  DiskRates rates = expected;
  engine.on_every_rank_at_disk("a trial of its disk", disk.bytes(), [&] {
    if (disk.is_direct()) rates = measured_rates(window, filled, expected);
  });
  engine.expect_of_disk(rates);
  return rates;
}

}  // namespace zero::state
