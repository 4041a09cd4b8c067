#include "zero/state/disk.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <utility>

#include "zero/base/align.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/run/disk_window.hpp"
#include "zero/state/engine.hpp"

namespace zero::state {
namespace {

aio::QueueOptions queue_options(const AioConfig& config) {
  return {.block_bytes = config.block_size,
          .single_submit = config.single_submit,
          .overlap_events = config.overlap_events};
}

std::string idle_threads(const AioConfig& config) {
  if (config.intra_op_parallelism == AioConfig().intra_op_parallelism) return "";
  return text("aio.intra_op_parallelism = ", config.intra_op_parallelism,
              " does nothing here: io_uring moves the blocks, aio.queue_depth = ",
              config.queue_depth, " at a time; remove it, and raise that");
}

/// A folder for one kind of bytes.
struct Named {
  const char* key;
  Home home;
  const std::string& folder;
};

std::array<Named, 3> named_folders(const RunConfig& config) {
  const OffloadOptimizerConfig& optimizer = config.offload_optimizer;
  const OffloadParamConfig& parameters = config.offload_param;
  const OffloadActivationsConfig& activations = config.offload_activations;
  return {{{"zero.offload_optimizer.nvme_path", optimizer.device, optimizer.nvme_path},
           {"zero.offload_param.nvme_path", parameters.device, parameters.nvme_path},
           {"activation_checkpointing.nvme_path", activations.home(), activations.nvme_path}}};
}

/// Returns the fault of a folder, or "" if it is usable or not wanted.
std::string problem_of(const Named& named) {
  return named.home == Home::nvme ? why_no_folder(named.folder) : "";
}

/// Maximum seconds between looks of DiskPace; a longer gap means that this process was stopped.
constexpr double kMostSeconds = 0.5;

bool is_known(const DiskRates& rates) { return rates.read > 0 && rates.write > 0; }

/// Writes the second slots, because a disk that is too small must fail now and not in a step.
void take_second_slots(Disk& disk, run::DiskWindow& window) {
  if (!disk.has_unreserved_slots()) return;
  disk.freeze();
  window.rewrite();
  disk.thaw();
}

/// Returns measured rates. Counts a fill's writes if they are enough, to spare the disk.
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

bool has_disk_folders(const RunConfig& config) {
  return std::ranges::all_of(named_folders(config),
                             [](const Named& named) { return problem_of(named).empty(); });
}

DiskHomes disk_homes(const RunConfig& config) {
  DiskHomes homes{.folders = {}, .aio = config.aio};
  std::vector<std::string>& folders = homes.folders;
  for (const Named& named : named_folders(config)) {
    if (const std::string problem = problem_of(named); !problem.empty()) {
      refuse(Exit::kUsage, named.key, ": ", named.folder, " ", problem,
             "; make it on a local disk, or write another: nothing is created by itself");
    }
    const bool is_new = std::ranges::find(folders, named.folder) == folders.end();
    if (named.home == Home::nvme && is_new) folders.push_back(named.folder);
  }
  return homes;
}

Disk::Disk(const DiskHomes& homes, int64_t bytes, std::span<const tiers::DiskExtent> saved)
    : files_({.folders = homes.folders,
              .bytes = bytes + tiers::SlotTable::bytes_for(saved),
              .block_bytes = homes.aio.block_size}),
      table_(files_.bytes()),
      slots_(saved, round_up(bytes, tiers::kDiskBlockBytes)),
      read_(files_, blocks(), io_engine(homes.aio), queue_options(homes.aio)),
      write_(files_, blocks(), io_engine(homes.aio), queue_options(homes.aio)) {
  if (slots_.empty()) return;
  frozen_.emplace(files_, tiers::DiskBlocks::frozen(table_, slots_), io_engine(homes.aio),
                  queue_options(homes.aio));
}

/// Returns the blocks. Lanes look for second slots only if there are any.
tiers::DiskBlocks Disk::blocks() {
  return slots_.empty() ? tiers::DiskBlocks(table_) : tiers::DiskBlocks(table_, slots_);
}

std::unique_ptr<aio::Engine> Disk::io_engine(const AioConfig& config) {
  aio::EngineChoice choice = aio::make_engine({.depth = int(config.queue_depth),
                                               .threads = int(config.intra_op_parallelism),
                                               .require_uring = config.require_uring});
  warning_ = choice.warning;
  if (warning_.empty() && choice.engine->name() == "io_uring") warning_ = idle_threads(config);
  return std::move(choice.engine);
}

void Disk::register_memory(std::span<std::byte> memory) {
  for (tiers::DiskTier* tier : {&read_, &write_}) {
    const std::string refused = tier->register_memory(memory);
    if (warning_.empty()) warning_ = refused;
  }
}

DiskBytes Disk::moved() const {
  return {.read = read_.moved_bytes(), .written = write_.moved_bytes()};
}

DiskBytes operator-(const DiskBytes& a, const DiskBytes& b) {
  return {.read = a.read - b.read, .written = a.written - b.written};
}

int64_t a_day(int64_t written, double seconds) {
  constexpr double kSecondsOfDay = 86400;
  return seconds > 0 ? std::llround(double(written) / seconds * kSecondsOfDay) : 0;
}

DiskBytes process_disk_bytes() {
  DiskBytes bytes;
  std::ifstream lines("/proc/self/io");
  for (std::string name; lines >> name;) {
    int64_t count = 0;
    lines >> count;
    if (name == "read_bytes:") bytes.read = count;
    if (name == "write_bytes:") bytes.written = count;
  }
  return bytes;
}

std::string rate_text(double bytes_per_second) { return bytes_text(bytes_per_second) + "/s"; }

DiskPace::DiskPace(std::string place, DiskRates expected)
    : place_(std::move(place)), expected_(std::move(expected)) {}

void DiskPace::expect(const DiskRates& rates) {
  const std::lock_guard lock(mutex_);
  expected_ = rates;
  seen_seconds_ = -1;
  moving_seconds_ = 0;
}

std::string DiskPace::look(double now_seconds, bool is_moving, const DiskBytes& moved) {
  const std::lock_guard lock(mutex_);
  const double before = std::exchange(seen_seconds_, now_seconds);
  if (before < 0) begun_ = moved;
  if (before >= 0 && is_moving) moving_seconds_ += std::min(now_seconds - before, kMostSeconds);
  if (moving_seconds_ < kJudgedSeconds || warned_ || !is_known(expected_)) return "";
  const DiskBytes bytes = moved - begun_;
  warned_ = moving_seconds_ > expected_.slack * expected_.seconds_of(bytes);
  const std::string said = warned_ ? warning(bytes) : "";
  moving_seconds_ = 0;
  begun_ = moved;
  return said;
}

std::string DiskPace::warning(const DiskBytes& bytes) const {
  const double sum = double(bytes.sum()), seconds = expected_.seconds_of(bytes);
  const double rate = seconds > 0 ? sum / seconds : expected_.write;
  return text(place_, " is slow: ", rate_text(sum / moving_seconds_), " over the last ",
              format("%.0f s", moving_seconds_), " of its transfers, ", rate_text(rate),
              " expected (", expected_.source, "); training goes on at its pace");
}

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
