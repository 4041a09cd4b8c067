#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/io/tiers/disk_tier.hpp"
#include "zero/run/executor.hpp"

namespace zero::state {

struct DiskBytes {
  int64_t read = 0, written = 0;
  void add(const DiskBytes& more) { read += more.read, written += more.written; }
  int64_t sum() const { return read + written; }
};
DiskBytes operator-(const DiskBytes& a, const DiskBytes& b);

/// Returns `written` bytes in `seconds` as bytes a day, to compare with a disk's endurance.
int64_t a_day(int64_t written, double seconds);

/// Returns the kernel's count of this process's disk transfers; zeros if it does not count.
DiskBytes process_disk_bytes();

/// The folders of a run's homes nvme, and the settings of transfers.
struct DiskHomes {
  std::vector<std::string> folders = {};  ///< no folder twice; several are striped
  AioConfig aio = {};
};

/// True if the folders of all homes nvme of `config` exist on this host.
bool has_disk_folders(const RunConfig& config);

/// Returns the folders and settings of a run's homes nvme. Throws Error(kUsage) with the key of a
/// folder that does not exist.
DiskHomes disk_homes(const RunConfig& config);

/// The bytes that a rank keeps on disk, and the queues of the two lanes that move them.
class Disk {
 public:
  /// Allocates at once `bytes`, and after them the second slots of `saved`, in nameless files in
  /// the folders of `homes`. Throws as DiskFiles. Throws Error(kUsage) if this machine lacks what
  /// aio.require_uring asks for.
  Disk(const DiskHomes& homes, int64_t bytes, std::span<const tiers::DiskExtent> saved = {});

  run::LaneDisks lanes() { return {&read_, &write_}; }

  /// Keeps the present content for frozen() until thaw(), whatever the lanes write. REQUIRES: no
  /// body runs, and the disk has second slots.
  void freeze() { slots_.freeze(); }
  void thaw() { slots_.thaw(); }
  /// Returns the content of freeze(), with a queue of its own for a thread beside the lanes.
  tiers::DiskTier& frozen() { return *frozen_; }
  /// Registers `memory`, which both lanes read and write, with the kernel, if its limits allow;
  /// else sets warning().
  void register_memory(std::span<std::byte> memory);
  int64_t bytes() const { return files_.bytes(); }
  /// True if second slots take their room only when written.
  bool has_unreserved_slots() const { return frozen_ && !files_.is_reserved(); }
  /// True if transfers bypass the page cache.
  bool is_direct() const { return files_.direct(); }
  /// Returns the reason for a slower disk than possible, or "".
  const std::string& warning() const { return warning_; }
  /// Returns the bytes that both lanes moved so far, block by block. Any thread may call this and
  /// is_moving() at any time.
  DiskBytes moved() const;
  /// Returns the bytes that frozen() has read so far.
  DiskBytes moved_frozen() const { return {.read = frozen_ ? frozen_->moved_bytes() : 0}; }
  bool is_moving() const { return read_.is_moving() || write_.is_moving(); }

 private:
  std::unique_ptr<aio::Engine> io_engine(const AioConfig& config);
  tiers::DiskBlocks blocks();

  std::string warning_;
  tiers::DiskFiles files_;
  tiers::BlockTable table_;
  tiers::SlotTable slots_;
  tiers::DiskTier read_, write_;
  std::optional<tiers::DiskTier> frozen_;  ///< set with second slots
};

/// The rates expected of a disk for one rank, in bytes a second.
struct DiskRates {
  double read = 0, write = 0;  ///< 0: no expectation
  double slack = 4;            ///< times slower that cause a warning
  std::string source = {};     ///< origin of the numbers

  /// Returns the seconds that transfers of `bytes` take if both directions share the disk.
  double seconds_of(const DiskBytes& bytes) const {
    return double(bytes.read) / read + double(bytes.written) / write;
  }
};

/// Returns a rate of a disk as text: "2.04 GiB/s".
std::string rate_text(double bytes_per_second);

/// A comparison of a disk's rates with the expected ones. Thread-safe.
class DiskPace {
 public:
  /// Length of a judged stretch of transfers, in seconds.
  static constexpr double kJudgedSeconds = 5;

  /// `place` names the disk in warnings.
  DiskPace(std::string place, DiskRates expected);

  /// Replaces the expected rates from now on.
  void expect(const DiskRates& rates);

  /// Judges the transfers at regular calls, with the clock in seconds and the bytes moved so far.
  /// `is_moving` is true while a transfer is under way. Returns the warning once, with measured and
  /// expected rate; else "".
  std::string look(double now_seconds, bool is_moving, const DiskBytes& moved);

 private:
  std::string warning(const DiskBytes& bytes) const;

  const std::string place_;
  std::mutex mutex_;
  DiskRates expected_;
  double seen_seconds_ = -1;  ///< at the last look; -1 before the first
  double moving_seconds_ = 0;
  DiskBytes begun_;  ///< moved when the judged stretch began
  bool warned_ = false;
};

}  // namespace zero::state
