#include <algorithm>

#include "src/machine/probes.hpp"
#include "zero/base/text.hpp"
#include "zero/io/aio/queue.hpp"

namespace zero::machine {
namespace {

using tiers::DiskSetting;

constexpr double kSeconds = 0.15;
constexpr int kRounds = 2;
/// Disks scatter: less is no reason to leave a default.
constexpr double kWorthwhile = 1.05;

std::string gigabytes(double bytes_per_second) { return format("%.2f", bytes_per_second / 1e9); }

std::string setting_text(const DiskSetting& setting) {
  return text(setting.block_bytes >> 10, " KiB x ", setting.depth, " by ",
              setting.uring ? "io_uring" : text(setting.threads, " threads"));
}

std::string rates_text(const SettingTrial& trial) {
  return text("read ", gigabytes(trial.read), ", write ", gigabytes(trial.write), ", mixed ",
              gigabytes(trial.mixed), " GB/s");
}

/// The best of some rounds over all settings, since a disk may be busy elsewhere in any of them.
std::vector<SettingTrial> measure(tiers::DiskProbe& probe, bool has_ring) {
  std::vector<SettingTrial> trials;
  for (const DiskSetting& setting : disk_settings(has_ring)) trials.push_back({setting});
  const auto improve = [&](double& best, const SettingTrial& trial, aio::Pattern pattern) {
    best = std::max(best, probe.bytes_per_second(trial.setting, pattern, kSeconds));
  };
  for (int round = 0; round < kRounds; ++round) {
    for (SettingTrial& trial : trials) {
      improve(trial.read, trial, aio::Pattern::read);
      improve(trial.write, trial, aio::Pattern::write);
      improve(trial.mixed, trial, aio::Pattern::mixed);
    }
  }
  return trials;
}

Finding no_disk(const std::string& folder, const std::string& what) {
  return {.subject = "nvme",
          .verdict = Verdict::missing,
          .found = what,
          .advice = text("states cannot rest in ", folder, ": name another folder")};
}

}  // namespace

std::vector<DiskSetting> disk_settings(bool has_ring) {
  constexpr int64_t kKiB = 1024, kMiB = kKiB * kKiB;
  if (!has_ring) {
    return {{.block_bytes = kMiB, .depth = 8, .uring = false, .threads = 1},
            {.block_bytes = kMiB, .depth = 8, .uring = false, .threads = 4},
            {.block_bytes = 4 * kMiB, .depth = 8, .uring = false, .threads = 4}};
  }
  return {{.block_bytes = kMiB, .depth = 8},
          {.block_bytes = 256 * kKiB, .depth = 32},
          {.block_bytes = kMiB, .depth = 2},
          {.block_bytes = kMiB, .depth = 32},
          {.block_bytes = 4 * kMiB, .depth = 8},
          {.block_bytes = kMiB, .depth = 8, .uring = false, .threads = 4}};
}

const SettingTrial& best_trial(const std::vector<SettingTrial>& trials) {
  const SettingTrial* best = &trials.front();
  for (const SettingTrial& trial : trials) {
    // No key asks for threads where io_uring works.
    const bool can_be_asked_for = trial.setting.uring == best->setting.uring;
    if (can_be_asked_for && trial.mixed > kWorthwhile * best->mixed) best = &trial;
  }
  return *best;
}

Finding nvme_choice(const std::string& folder, const SettingTrial& best) {
  // AdamW with split masters reads and writes 10 bytes a parameter.
  constexpr double kStateBytes = 20e9;
  std::string table = text("for the input file:\n[aio]\nblock_size = ", best.setting.block_bytes,
                           "\nqueue_depth = ", best.setting.depth);
  if (!best.setting.uring) table += text("\nintra_op_parallelism = ", best.setting.threads);
  return {
      .subject = "nvme choice",
      .found = text(folder, ": ", setting_text(best.setting), "; the optimizer state of 10^9 ",
                    "parameters passes in ", format("%.1f", kStateBytes / best.mixed), " s a step"),
      .advice = table};
}

Findings nvme_findings(const std::string& folder) {
  try {
    tiers::DiskProbe probe(folder);
    std::string why_not;
    const std::vector<SettingTrial> trials =
        measure(probe, aio::make_uring_engine({}, why_not) != nullptr);
    Findings findings;
    for (const SettingTrial& trial : trials) {
      findings.push_back(
          {.subject = "nvme", .found = setting_text(trial.setting) + ": " + rates_text(trial)});
    }
    findings.push_back(nvme_choice(folder, best_trial(trials)));
    if (!probe.direct()) {
      findings.back().verdict = Verdict::warning;
      findings.back().found += ", but through the page cache: it has no O_DIRECT, as in tmpfs";
    }
    findings.push_back(
        {.subject = "nvme wear",
         .found = bytes_text(double(probe.bytes_written())) + " written by this look"});
    return findings;
  } catch (const Error& error) {
    return {no_disk(folder, error.what())};
  }
}

}  // namespace zero::machine
